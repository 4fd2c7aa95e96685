package web

import (
	"net/http"
	"time"

	"github.com/cronce/cronce/ledger"
)

type overviewView struct {
	Health   health
	Dead     []runGroup
	Coming   coming
	Hours    throughput
	Late     quantiles
	Span     string // "24h" or "30d"
	Now      time.Time
	Strips   []jobRow
	Running  int
	Accepted int
	Retries  int
	Jobs     int
}

func (d *Dashboard) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	v := overviewView{Now: d.now(), Span: "24h", Jobs: d.registry().Len()}
	hours := 24
	if r.URL.Query().Get("span") == "30d" {
		v.Span, hours = "30d", hoursKept
	}
	states, err := d.Ledger.JobStates(ctx)
	if err != nil {
		return view{}, err
	}
	timings, err := d.lastHours(ctx, hours, states)
	if err != nil {
		return view{}, err
	}
	if v.Health, err = d.health(ctx); err != nil {
		return view{}, err
	}
	v.Hours = newThroughput(groupHours(timings, hours/24))
	v.Late = newQuantiles("Lateness", groupHours(timings, hours/24), func(t ledger.Timings) ledger.Histogram { return t.Lateness })
	v.Hours.Known, v.Hours.Of = known(timings), len(timings)
	dead, err := d.Ledger.List(ctx, ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: 200})
	if err != nil {
		return view{}, err
	}
	v.Dead = groupRuns(dead, v.Now)
	if len(dead) == 200 && len(v.Dead) > 0 {
		v.Dead[len(v.Dead)-1].More = true
	}
	if v.Strips, err = d.overviewStrips(ctx, states, v.Dead); err != nil {
		return view{}, err
	}
	v.Dead = v.Dead[:min(len(v.Dead), 6)]
	for i, g := range v.Dead {
		v.Dead[i].Acts = d.deadActs(r, g.Job, g.Reason, g.Sendable)
	}
	for i, item := range v.Health.Items {
		if item.Incident > 0 {
			v.Health.Items[i].Acts = d.incidentActs(r, item.Incident)
		}
	}
	unfinished := v.Health.Counts.Unfinished
	v.Running, v.Accepted, v.Retries = unfinished[ledger.Running], unfinished[ledger.Accepted], unfinished[ledger.Retrying]
	v.Coming = d.comingHour(states)
	title := "All is well"
	if n := len(v.Health.Items); n > 0 {
		title = counted(n, "problem")
	}
	return view{Template: "overview", Title: title, Section: "Overview", Data: v, Health: &v.Health}, nil
}

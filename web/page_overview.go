package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// deadOnOverview is the number of groups of dead runs that the overview shows, and of jobs that it
// names.
const deadOnOverview = 6

// overviewView is the first page: what needs attention, what ran, and what is next.
type overviewView struct {
	Health    health
	Dead      []runGroup
	MoreDead  int         // that are in no group of Dead
	Paused    []attention // pauses and holds that last, and jobs that are paused without an end
	Coming    coming
	Hours     throughput
	Late      quantiles
	Span      string    // "24h" or "30d"
	Uncounted time.Time // earlier runs are not in Hours and Late yet; usually zero
	Now       clock
	Strips    []jobRow // see chooseStrips
	Jobs      int      // of the registry
	// The unfinished runs in these states.
	Running, Accepted, FannedOut, Retries int
}

// overview is the page /. It returns its Health with the view, so that serve does not read it a second time.
func (d *Dashboard) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	span, hours := spanOf(r)
	v := overviewView{Now: d.clockOf(r), Span: span, Jobs: d.registry().Len()}
	states, pauses, err := d.states(ctx)
	if err != nil {
		return view{}, err
	}
	timings, uncounted, err := d.lastHours(ctx, hours, "")
	if err != nil {
		return view{}, err
	}
	v.Uncounted = uncounted
	if v.Health, err = d.health(ctx); err != nil {
		return view{}, err
	}
	v.Paused = d.pausedItems(pauses, states, v.Now)
	v.Hours = newThroughput(timings, v.Now)
	v.Late = newQuantiles("Lateness", timings, func(t ledger.Tally) ledger.Histogram { return t.Lateness })
	dead, all, err := d.deadRuns(ctx, "")
	if err != nil {
		return view{}, err
	}
	if v.Strips, err = d.overviewStrips(ctx, states, pauses, dead); err != nil {
		return view{}, err
	}
	if err := d.overviewDead(r, &v, dead, all); err != nil {
		return view{}, err
	}
	for i, item := range v.Health.Items {
		if item.Incident > 0 {
			v.Health.Items[i].Actions = d.incidentActions(r, item.Incident)
		}
	}
	unfinished := v.Health.Counts.Unfinished
	v.Running, v.Accepted = unfinished[ledger.Running], unfinished[ledger.Accepted]
	v.FannedOut, v.Retries = unfinished[ledger.FannedOut], unfinished[ledger.Retrying]
	v.Coming = d.comingHour(states, pauses, func(jobs.Job) bool { return true })
	title := "All is well"
	if n := len(v.Health.Items); n > 0 {
		title = counted(n, "problem")
	}
	return view{Template: "overview", Title: title, Section: "Overview", Data: v, Health: &v.Health}, nil
}

// overviewDead fills in the groups of the newest dead runs, and the number of the others. Together
// they are the number in the overview's first lines, although only the newest DeadLooked runs are
// grouped: a person who counts the groups must not find fewer than the page says.
func (d *Dashboard) overviewDead(r *http.Request, v *overviewView, dead []ledger.RunGroup, all bool) error {
	// totals has the dead runs of each job; of a job without a total, all are in dead.
	totals := map[string]int{}
	if !all {
		var ids []string
		for _, g := range dead {
			if len(ids) < deadOnOverview && !slices.Contains(ids, g.JobID) {
				ids = append(ids, g.JobID)
			}
		}
		statuses, err := d.Ledger.Jobs(r.Context(), ids...)
		if err != nil {
			return err
		}
		for _, s := range statuses {
			totals[s.JobID] = s.DeadUnacknowledged
		}
	}
	shared, rest := sharedGroups(dead, v.Now.Time)
	// The runs of a shared cause are in its group, so they leave the totals of their jobs: take off
	// all that were grouped, and add those that are not shared.
	for _, g := range dead {
		totals[g.JobID] -= g.Count
	}
	for _, g := range rest {
		totals[g.JobID] += g.Count
	}
	groups := slices.Concat(shared, deadGroups(rest, totals, v.Now.Time))
	v.Dead, v.MoreDead = groups[:min(len(groups), deadOnOverview)], v.Health.Counts.DeadUnacknowledged
	for i, g := range v.Dead {
		v.Dead[i].Actions = d.groupActions(r, g)
		v.MoreDead -= g.Count
	}
	return nil
}

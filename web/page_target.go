package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// jobsOfTarget is the number of jobs that the page of a target shows.
	jobsOfTarget = 30
	// incidentsOfTarget is the number of their incidents that it shows, of the last 30 days.
	incidentsOfTarget = 20
	waitingOfTarget   = 10
)

// targetView is the page of a target: its jobs, and what waits for it.
type targetView struct {
	jobs.Target
	Auth      string
	Breaker   string // of this process
	Actions   []actionLink
	Rows      []jobRow
	Jobs      int
	Coming    coming
	Hours     throughput
	Span      string    // "24h" or "30d"
	Uncounted time.Time // earlier runs are not in Hours yet; usually zero
	Failed    string    // the share of the finished runs that are dead
	Waiting   []runRow
	Incidents []ledger.Incident
	Now       clock
}

// target is the page of a target: its jobs, and what becomes of their calls.
func (d *Dashboard) target(r *http.Request) (view, error) {
	ctx, name := r.Context(), r.PathValue("id")
	i := slices.IndexFunc(d.registry().Targets(), func(t jobs.Target) bool { return t.Name == name })
	if i < 0 || name == jobs.BuiltinTarget {
		return view{}, missing("The registry has no target \""+name+"\".", "The page Targets lists all.")
	}
	t := d.registry().Targets()[i]
	span, hours := spanOf(r)
	v := targetView{Target: t, Auth: string(t.Auth.Type), Breaker: d.Serving().Breakers[name], Span: span, Actions: d.targetActions(r, name),
		Now: d.clockOf(r)}
	states, pauses, err := d.states(ctx)
	if err != nil {
		return view{}, err
	}
	var ids, shown []string
	briefs := slices.DeleteFunc(d.briefs(states, pauses, v.Now.Time), func(b brief) bool { return b.Target() != name })
	for _, b := range briefs { // also those that are not shown: the charts are of all
		ids = append(ids, b.ID)
	}
	byState, _ := orderOf("state") // a target of 1,000 jobs shows those in trouble
	byState.sort(briefs, false)
	for _, b := range briefs[:min(len(briefs), jobsOfTarget)] {
		shown = append(shown, b.ID)
	}
	v.Jobs = len(ids)
	v.Coming = d.comingHour(states, pauses, func(j jobs.Job) bool { return j.Target == name })
	if v.Rows, err = d.readRows(ctx, shown); err != nil || len(ids) == 0 {
		return view{Template: "target", Title: name, Section: "Targets", Data: v}, err
	}
	tallies, uncounted, err := d.lastHours(ctx, hours, ids...)
	if err != nil {
		return view{}, err
	}
	v.Uncounted = uncounted
	v.Hours = newThroughput(tallies, v.Now)
	v.Failed = shareOf(v.Hours.Dead, v.Hours.Dead+v.Hours.OK)
	if v.Waiting, err = d.waitingOf(r, name); err != nil {
		return view{}, err
	}
	v.Incidents, err = d.incidentsOf(ctx, ids, v.Now.Time)
	return view{Template: "target", Title: cmp.Or(strings.TrimPrefix(v.Breaker, "closed"), "target") + ": " + name, Section: "Targets",
		Data: v}, err
}

// shareOf is a part in percent, "" of nothing.
func shareOf(part, all int) string {
	switch {
	case all == 0:
		return ""
	case part == 0:
		return "0 %"
	case part*1000 < all: // it would be 0.0
		return "below 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all))
}

// waitingOf are runs that wait to be sent to a target, each with why.
func (d *Dashboard) waitingOf(r *http.Request, target string) ([]runRow, error) {
	f := ledger.Filter{States: ledger.MayWait, Limit: waitingRuns}
	runs, err := matching(r.Context(), d, operations.Selection{Target: target}, f, d.Ledger.List)
	if err != nil {
		return nil, err
	}
	rows, err := d.runRows(r, runs)
	rows = slices.DeleteFunc(rows, func(row runRow) bool { return row.WaitReason.Code == "" || row.WaitReason.Code == ledger.WaitNotDue })
	return rows[:min(len(rows), waitingOfTarget)], err
}

// incidentsOf are the incidents of jobs and of templates' schedules that are open or were within 30
// days, newest first.
func (d *Dashboard) incidentsOf(ctx context.Context, jobIDs []string, now time.Time) ([]ledger.Incident, error) {
	list, err := d.Ledger.Incidents(ctx, ledger.IncidentFilter{JobIDs: jobIDs, WithSchedules: true, Limit: incidentsOfTarget})
	return slices.DeleteFunc(list, func(i ledger.Incident) bool { return !i.Open() && now.Sub(i.ClosedAt) > 30*day }), err
}

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

// targetsView is the page /targets.
type targetsView struct {
	Rows []targetRow
	Now  clock
}

// targetRow is a target in the list.
type targetRow struct {
	jobs.Target
	Auth    string
	Breaker string
	Jobs    int
	Waiting []ledger.Run // with a reason that concerns the target
}

// waitingRuns is the number of unfinished runs that are searched for those that wait.
const waitingRuns = 200

// targets is the page /targets: each target with its breaker and what waits for it.
func (d *Dashboard) targets(r *http.Request) (view, error) {
	v := targetsView{Now: d.clockOf(r)}
	states := d.Serving().Breakers
	uses := map[string]int{}
	for j := range d.registry().JobsAndTemplates() {
		uses[j.Target]++
	}
	runs, err := d.Ledger.List(r.Context(), ledger.Filter{States: ledger.MayWait, Limit: waitingRuns})
	if err != nil {
		return view{}, err
	}
	for _, t := range d.registry().Targets() {
		if t.Name == jobs.BuiltinTarget {
			continue
		}
		row := targetRow{Target: t, Auth: string(t.Auth.Type), Breaker: states[t.Name], Jobs: uses[t.Name]}
		for _, run := range runs {
			if run.Call.Target == t.Name && run.WaitReason.Code != "" {
				row.Waiting = append(row.Waiting, run)
			}
		}
		v.Rows = append(v.Rows, row)
	}
	title := counted(len(v.Rows), "target")
	for _, row := range v.Rows {
		if row.Breaker == "open" {
			title = "Breaker open: " + row.Name
		}
	}
	return view{Template: "targets", Title: title, Section: "Targets", Data: v}, nil
}

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
	targets := d.registry().Targets()
	i := slices.IndexFunc(targets, func(t jobs.Target) bool { return t.Name == name })
	if i < 0 || name == jobs.BuiltinTarget {
		return view{}, missing("The registry has no target \""+name+"\".", "The page Targets lists all.")
	}
	t := targets[i]
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

// shareOf writes a part of a whole in percent; "" if the whole is nothing.
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

// waitingOf returns runs that wait to be sent to a target, each with the reason. Those that are only not due yet are
// left out.
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

// incidentsOf returns the incidents of jobs, and of the schedules of templates among them, that are open or were closed
// within 30 days, newest first.
func (d *Dashboard) incidentsOf(ctx context.Context, jobIDs []string, now time.Time) ([]ledger.Incident, error) {
	list, err := d.Ledger.Incidents(ctx, ledger.IncidentFilter{JobIDs: jobIDs, WithSchedules: true, Limit: incidentsOfTarget})
	return slices.DeleteFunc(list, func(i ledger.Incident) bool { return !i.Open() && now.Sub(i.ClosedAt) > 30*day }), err
}

package simulate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// listed is a ledger that writes down what its listings show when its simulation ends, so that
// the queries of an engine are compared over the rows that a simulation leaves.
type listed struct {
	ledger.Store
	lines *[]string
}

// listing opens the ledger, and writes down its listings in the end.
func (o opener) listing(lines *[]string) opener {
	return func(ctx context.Context, now func() time.Time) (ledger.Store, error) {
		s, err := o(ctx, now)
		return listed{s, lines}, err
	}
}

func (l listed) Close() error {
	ctx := context.Background()
	states, err := l.JobStates(ctx)
	l.add("job states", states, err)
	jobs, err := l.Jobs(ctx)
	l.add("jobs", jobs, err)
	counts, err := l.Counts(ctx)
	counts.Now = time.Time{}
	maps.DeleteFunc(counts.Unfinished, func(_ ledger.State, n int) bool { return n == 0 })
	l.add("counts", counts, err)
	audit, err := l.Audit(ctx, ledger.AuditFilter{Limit: 1000})
	for i := range audit {
		audit[i].ID = 0 // may have gaps
	}
	l.add("audit", audit, err)
	for _, j := range jobs {
		events, err := l.Events(ctx, j.JobID, 1000)
		l.add("events", events, err)
		recent, err := l.Recent(ctx, []string{j.JobID}, 9)
		l.add("recent", recent, err)
	}
	l.hours(ctx, jobs)
	for _, f := range filters(jobs) {
		l.pages(ctx, f)
	}
	return l.Store.Close()
}

// hours writes down the counts of hours, which are the same from the runs and from the
// table that a roll-up fills.
func (l listed) hours(ctx context.Context, jobs []ledger.JobStatus) {
	until := time.Now().Add(time.Hour)
	count := func() (lines []string) {
		for _, j := range append(jobs, ledger.JobStatus{}) {
			hours, err := l.Hours(ctx, j.JobID, until.Add(-14*24*time.Hour), until)
			text, _ := json.Marshal(hours)
			lines = append(lines, fmt.Sprintf("hours of %q: %v %s", j.JobID, err, text))
		}
		return lines
	}
	fromRuns := count()
	for more := true; more; {
		var err error
		if more, err = l.RollUp(ctx); err != nil {
			panic(err)
		}
	}
	if fromTable := count(); !slices.Equal(fromRuns, fromTable) {
		panic(fmt.Sprintf("counts of hours from the runs and from the table differ:\n%v\n%v", fromRuns, fromTable))
	}
	*l.lines = append(*l.lines, fromRuns...)
}

// filters are of each kind of question that lists answer.
func filters(jobs []ledger.JobStatus) (list []ledger.Filter) {
	for _, s := range ledger.States {
		list = append(list, ledger.Filter{States: []ledger.State{s}}, ledger.Filter{States: []ledger.State{s, ledger.Dead}, Unacknowledged: true})
	}
	for _, r := range ledger.Reasons {
		list = append(list, ledger.Filter{Reason: r, NotRerun: true})
	}
	for _, j := range jobs {
		list = append(list, ledger.Filter{JobID: j.JobID}, ledger.Filter{JobID: j.JobID, States: ledger.Unfinished})
		if j.LastRun != nil {
			since := j.LastRun.ScheduledAt.Add(-30 * time.Minute)
			list = append(list, ledger.Filter{Since: since, Until: j.LastRun.ScheduledAt}, ledger.Filter{JobID: j.JobID, Since: since})
		}
	}
	return list
}

// pages goes through all pages of a list.
func (l listed) pages(ctx context.Context, f ledger.Filter) {
	what := fmt.Sprintf("list %+v", f)
	f.Limit = 50
	for more := true; more; {
		runs, err := l.List(ctx, f)
		l.add(what, runs, err)
		if more = len(runs) == f.Limit; more {
			last := runs[len(runs)-1]
			f.Before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
		}
	}
}

func (l listed) add(what string, v any, err error) {
	text, _ := json.Marshal(v)
	*l.lines = append(*l.lines, fmt.Sprintf("%s: %v %s", what, err, text))
}

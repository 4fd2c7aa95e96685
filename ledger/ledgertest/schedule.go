package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// timing are the rules of the suite's schedules. An Expr is the time between two scheduled
// times, which are its multiples, or "at" and a time.
type timing struct{ late time.Duration }

func (timing) next(s *ledger.Schedule, after time.Time) (time.Time, error) {
	var next time.Time
	if at, single := strings.CutPrefix(s.Expr, "at "); single {
		at, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return next, err
		}
		if at.After(after) {
			next = at
		}
	} else {
		every, err := time.ParseDuration(s.Expr)
		if err != nil {
			return next, err
		}
		next = after.Truncate(every).Add(every)
	}
	if !s.Until.IsZero() && next.After(s.Until) {
		return time.Time{}, nil
	}
	return next, nil
}

// Begin lets an "at" begin up to an hour late.
func (r timing) Begin(s *ledger.Schedule, earliest, now time.Time) (time.Time, error) {
	if at, single := strings.CutPrefix(s.Expr, "at "); single {
		at, err := time.Parse(time.RFC3339, at)
		if err == nil && !at.After(now) && at.After(earliest) && now.Sub(at) <= time.Hour {
			return at.Add(-time.Second), nil
		}
		return now, err
	}
	_, err := r.next(s, now)
	return now, err
}

// unfit is the data of a schedule that does not fit its template.
const unfit = "unfit"

// Plan plans all scheduled times to run, those of a schedule that is unfit in a range row.
func (r timing) Plan(s *ledger.Schedule, now time.Time, all bool) (p ledger.Plan, next time.Time, err error) {
	p = ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: s.Watermark}
	if string(s.Data) == unfit {
		if !all {
			return p, next, errors.New("it is unfit")
		}
		p.Through = now
		p.Runs, err = r.missed(s, now)
		return p, next, err
	}
	due := now
	if !all {
		due = now.Add(-r.late)
	}
	for at := s.Watermark; ; {
		if next, err = r.next(s, at); err != nil {
			return p, next, err
		}
		if next.IsZero() || next.After(due) || len(p.Runs) == 100 {
			break
		}
		at = next
		overlap := ledger.OverlapAllow
		if len(s.Data) > 0 {
			overlap = ledger.Overlap(s.Data)
		}
		p.Runs = append(p.Runs, ledger.RunSpec{
			RunID: runID(s.JobID, at), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: overlap,
			Call: callOf(s.JobID),
		})
	}
	switch through := due.Truncate(time.Second); {
	case len(p.Runs) == 100:
		p.Through = p.Runs[99].ScheduledAt
	case through.After(p.Through):
		p.Through = through
	}
	if !next.IsZero() {
		next = next.Add(r.late)
	}
	return p, next, nil
}

func (r timing) missed(s *ledger.Schedule, now time.Time) (runs []ledger.RunSpec, err error) {
	var list []time.Time
	for at := s.Watermark; ; list = append(list, at) {
		if at, err = r.next(s, at); err != nil || at.IsZero() || at.After(now) {
			break
		}
	}
	in := ledger.RunSpec{Count: len(list), State: ledger.Missed, Reason: ledger.ReasonNotPlannable, Trigger: ledger.BySchedule}
	switch len(list) {
	case 0:
		return nil, err
	case 1:
		in.ScheduledAt, in.RunID = list[0], runID(s.JobID, list[0])
	default:
		in.ScheduledAt, in.Until = list[0], list[len(list)-1]
		in.RunID = runID(s.JobID, in.ScheduledAt) + "/" + in.Until.Format(time.RFC3339)
	}
	return []ledger.RunSpec{in}, err
}

// Next returns the first scheduled time, and its delay.
func (r timing) Next(s *ledger.Schedule) (time.Time, error) {
	next, err := r.next(s, s.Watermark)
	if !next.IsZero() {
		next = next.Add(r.late)
	}
	return next, err
}

// upsert returns a change of a schedule of template t.
func upsert(key, expr string) ledger.ScheduleChange {
	return ledger.ScheduleChange{JobID: "t:" + key, ScheduleContent: ledger.ScheduleContent{Expr: expr, Timezone: "UTC"}}
}

func at(t time.Time) string { return "at " + t.UTC().Format(time.RFC3339) }

// template declares template t, and returns its revision.
func (t *fixture) template() ledger.TemplateRevision {
	t.Helper()
	t.declare("planner", "v1", "t")
	t.assignments("v1")
	return ledger.TemplateRevision{Template: "t", Revision: t.now("t").Revision}
}

// change makes changes, of which none may fail but those that the case looks at.
func (t *fixture) change(items ...ledger.ScheduleChange) []ledger.ScheduleResult {
	t.Helper()
	got, err := t.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "t", Items: items, Rules: timing{}, Actor: someone})
	t.must(err)
	return got
}

// putSchedule makes one change, which must have the effect.
func (t *fixture) putSchedule(in ledger.ScheduleChange, want ledger.ScheduleEffect) ledger.Schedule {
	t.Helper()
	got := t.change(in)[0]
	if got.Err != nil || got.Effect != want {
		t.Fatalf("%s: %s, %v; want %s", in.JobID, got.Effect, got.Err, want)
	}
	return got.Schedule
}

// wantChangeError makes one change, which must fail.
func (t *fixture) wantChangeError(in ledger.ScheduleChange, want error) {
	t.Helper()
	if got := t.change(in)[0]; !errors.Is(got.Err, want) || got.Effect != ledger.ScheduleUnchanged {
		t.Errorf("%s: %s, %v; want %v", in.JobID, got.Effect, got.Err, want)
	}
}

var someone = who("ann", "asked")

var planner = ledger.SchedulePlanning{Templates: []ledger.TemplateRevision{{Template: "t", Revision: 1, Hash: "v1"}}, Rules: timing{},
	Process: "planner", LeaseFor: lease}

// planAll plans all that is due, and returns the IDs of the runs that it planned.
func (t *fixture) planAll() (runs []string) {
	t.Helper()
	for {
		got, err := t.PlanSchedules(t.ctx, planner)
		t.must(err)
		runs = append(runs, plannedIn(got)...)
		if got.NextAt.IsZero() || got.NextAt.After(got.Now) {
			slices.Sort(runs)
			return runs
		}
	}
}

func plannedIn(planned ledger.PlannedSchedules) (ids []string) {
	for _, p := range planned.Plans {
		for _, r := range p.Runs {
			ids = append(ids, r.RunID)
		}
	}
	return ids
}

// sweepAll sweeps until a plan has nothing to sweep, and then plans as planAll does.
func (t *fixture) sweepAll() (runs []string) {
	t.Helper()
	for {
		got, err := t.PlanSchedules(t.ctx, planner)
		t.must(err)
		runs = append(runs, plannedIn(got)...)
		if got.Sweep.Template == "" {
			return append(runs, t.planAll()...)
		}
		got.Sweep.Rules = timing{}
		for more := true; more; more = got.Sweep.After != 0 {
			got.Sweep.After, err = t.SweepSchedules(t.ctx, got.Sweep)
			t.must(err)
		}
	}
}

// runIDsAt returns the run IDs of a key at multiples of a duration in (after, through].
func runIDsAt(key string, every time.Duration, after, through time.Time) (ids []string) {
	for at := after.Truncate(every).Add(every); !at.After(through); at = at.Add(every) {
		ids = append(ids, runID("t:"+key, at))
	}
	return ids
}

// wantRunsOf checks which runs a key has.
func (t *fixture) wantRunsOf(key string, want []string) {
	t.Helper()
	var ids []string
	for _, r := range t.all("t:" + key) {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("runs of %s:\n got %v\nwant %v", key, ids, want)
	}
}

func (t *fixture) schedule(key string) ledger.Schedule {
	t.Helper()
	s, err := t.Schedule(t.ctx, "t:"+key)
	t.must(err)
	return s
}

// manyPuts returns puts of n keys.
func manyPuts(n int, expr string) (list []ledger.ScheduleChange) {
	for i := range n {
		list = append(list, upsert(fmt.Sprintf("k%04d", i), expr))
	}
	return list
}

package sqlite_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// everything makes each kind of call once, so that each statement is prepared.
func (f *fleet) everything(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f.begin(t, 5)
	_, err := f.Heartbeat(ctx, "p")
	must(err)
	work := f.admit(t, true)
	f.record(t, work[:1])
	_, err = f.Record(ctx, []ledger.Outcome{
		{Lease: lease(work[1]), State: ledger.Retrying}, {Lease: lease(work[2]), State: ledger.Planned},
		{Lease: lease(work[3]), State: ledger.Dead}, {Lease: lease(work[3]), State: ledger.Dead},
	})
	must(err)
	_, err = f.Extend(ctx, []ledger.Lease{lease(work[4])}, time.Hour)
	must(err)
	act := ledger.Action{Filter: ledger.Filter{JobID: work[3].JobID}, Actor: ledger.Actor{By: "me", Why: "test"}, IncludeAcknowledged: true}
	act.Request = &ledger.Request{Key: "k", Series: "s", EncodeAnswer: func(any) ([]byte, error) { return nil, nil }}
	act.Limit = 1
	_, err = f.Ack(ctx, act)
	must(err)
	_, _, err = f.FindAnswer(ctx, *act.Request)
	act.Request, act.Limit = nil, 0
	must(err)
	_, err = f.Redrive(ctx, act)
	must(err)
	_, err = f.Cancel(ctx, act)
	must(err)
	must(f.PauseJob(ctx, work[0].JobID, ledger.Actor{By: "me", Why: "test"}))
	must(f.ResumeJob(ctx, work[0].JobID, ledger.Actor{By: "me", Why: "test"}))
	f.queueAndRange(t, must)
	f.clock.shift.Add(int64(2 * time.Minute)) // leases expire
	_, err = f.Claim(ctx, ledger.ClaimRequest{Process: "p", Token: f.token(), Limit: 1, LeaseFor: time.Minute})
	must(err)
	_, err = f.Claim(ctx, ledger.ClaimRequest{Process: "p", Token: f.token(), Limit: 1, Only: []string{"a@b"}})
	must(err)
	_, err = f.PurgeRuns(ctx, ledger.Purge{})
	must(err)
	_, err = f.PurgeHistory(ctx, ledger.HistoryPurge{})
	must(err)
	must(f.Deregister(ctx, "p"))
}

// queueAndRange has a run wait for another, an entry, a range row, its backfill
// and then, since only the current revision's ranges give scheduled times, an edit.
func (f *fleet) queueAndRange(t *testing.T, must func(error)) {
	t.Helper()
	f.clock.shift.Add(int64(time.Hour))
	s := &f.stands[0]
	p := f.plan(s, ledger.OverlapQueue, true)
	p2 := f.plan(s, ledger.OverlapQueue, false)
	first := s.Watermark.Add(time.Second)
	missed := ledger.RunSpec{
		RunID: idOf(s.JobID, first) + "/" + first.Add(time.Minute).Format(time.RFC3339), ScheduledAt: first, Until: first.Add(time.Minute), Count: 61,
		State: ledger.Missed, Reason: ledger.ReasonCatchUpNone, Trigger: ledger.BySchedule,
	}
	p.Runs = append(p.Runs, p2.Runs[0], missed)
	p.Through = missed.Until
	got, err := f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{p, p}, Process: "p", Token: f.token(), LeaseFor: time.Minute})
	must(err)
	if len(got.Stale) != 1 || len(got.Leased) != 1 {
		t.Fatalf("%+v", got)
	}
	f.record(t, got.Leased)
	in := missed
	in.RunID, in.Until, in.Call = idOf(s.JobID, in.ScheduledAt), time.Time{}, p2.Runs[0].Call
	done, err := f.Backfill(t.Context(), ledger.BackfillRequest{JobID: s.JobID, Runs: []ledger.RunSpec{in}})
	must(err)
	if done.Planned != 1 {
		t.Fatalf("%+v", done)
	}
	edit := ledger.Plan{JobID: s.JobID, Revision: p.Revision, After: p.Through, Through: p.Through, Next: &ledger.Definition{JobID: s.JobID, Hash: "h2"}}
	got, err = f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{edit}, Process: "p", Token: f.token(), LeaseFor: time.Minute})
	must(err)
	if len(got.Stale) != 0 {
		t.Fatalf("%+v", got)
	}
	_, err = f.Enter(t.Context(), ledger.Entry{JobID: s.JobID, RunSpec: p2.Runs[0]})
	must(err)
	in.ScheduledAt = in.ScheduledAt.Add(time.Hour)
	in.RunID = idOf("unknown", in.ScheduledAt)
	_, err = f.Enter(t.Context(), ledger.Entry{JobID: "unknown", RunSpec: in})
	must(err)
}

func lease(w ledger.Work) ledger.Lease { return ledger.Lease{RunID: w.RunID, Token: w.Token} }

// schedules makes each kind of call on schedules that are made at run time.
func (f *fleet) schedules(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	who := ledger.Actor{By: "me", Why: "test"}
	err := f.Declare(ctx, ledger.Declaration{Process: "p", Registry: "acme", Version: "t", Definitions: func(yield func(ledger.Definition) bool) {
		yield(ledger.Definition{JobID: "t", Hash: "t"})
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Assignments(ctx, "t", "")
	change := func(id, expr string, remove bool) {
		if err == nil {
			_, err = f.ChangeSchedules(ctx, ledger.ChangeSchedulesRequest{Template: "t", Rules: minutes{}, Actor: who, Items: []ledger.ScheduleChange{
				{JobID: id, ScheduleContent: ledger.ScheduleContent{Expr: expr}, Delete: remove},
			}})
		}
	}
	change("t:a", "1", false)
	change("t:a", "2", false)
	change("t:b", "1", false)
	change("t:b", "", true)
	f.clock.shift.Add(int64(time.Hour))
	planned, planErr := f.PlanSchedules(ctx, ledger.SchedulePlanning{
		Templates: []ledger.TemplateRevision{{Template: "t", Revision: 1}}, Rules: minutes{}, Process: "p", Token: f.token(), LeaseFor: time.Minute,
	})
	if len(planned.Plans) != 1 {
		t.Fatalf("%+v, %v", planned, planErr)
	}
	_, sweepErr := f.SweepSchedules(ctx, ledger.ScheduleSweep{
		TemplateRevision: ledger.TemplateRevision{Template: "t", Revision: 1, Hash: "t"}, Rules: minutes{},
	})
	_, purgeErr := f.PurgeHistory(ctx, ledger.HistoryPurge{})
	if err := errors.Join(err, planErr, sweepErr, purgeErr, f.PauseJob(ctx, "t:a", who)); err != nil {
		t.Fatal(err)
	}
}

// minutes are the rules of schedules that are due each minute.
type minutes struct{}

func (minutes) Begin(_ *ledger.Schedule, _, now time.Time) (time.Time, error) { return now, nil }

func (minutes) Plan(s *ledger.Schedule, now time.Time, _ bool) (p ledger.Plan, next time.Time, err error) {
	now = now.Truncate(time.Second)
	return ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: now}, now.Truncate(time.Minute).Add(time.Minute), nil
}

func (minutes) Next(s *ledger.Schedule) (time.Time, error) {
	return s.Watermark.Truncate(time.Minute).Add(time.Minute), nil
}

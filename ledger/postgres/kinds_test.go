package postgres_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// What many runs have in common is sent once. Each row has what is its own all
// the same, in whatever order the kinds come, and how often.
func TestRowsOfManyKindsInOneStatementKeepApart(t *testing.T) {
	f := newFleet(t, 40, ledger.OverlapAllow)
	r := rand.New(rand.NewPCG(1, 2))
	a := ledger.Admission{Process: "p", Token: f.token(), LeaseFor: time.Minute}
	planned := map[string]ledger.RunSpec{}
	for i := range f.stands {
		p := f.plan(i, true)
		p.Runs[0] = someKind(r, p.Runs[0])
		planned[p.Runs[0].RunID] = p.Runs[0]
		a.Plans = append(a.Plans, p)
	}
	got, err := f.Admit(t.Context(), a)
	must(t, err)
	if len(got.Stale) > 0 || len(got.Leased) == 0 {
		t.Fatalf("stale %d, leased %d", len(got.Stale), len(got.Leased))
	}
	for id, in := range planned {
		run, _, err := f.Get(t.Context(), id)
		must(t, err)
		want := ledger.Run{
			ID: id, JobID: run.JobID, ScheduledAt: in.ScheduledAt, Count: 1, Trigger: in.Trigger, Reason: in.Reason, Revision: 1, State: in.State,
			PlannedAt: got.Now, FinishedAt: got.Now, NextAt: time.Time{},
		}
		if in.State == ledger.Planned {
			want.Call, want.FinishedAt, want.NextAt = in.Call, time.Time{}, in.ScheduledAt
		}
		if in.State == ledger.Planned && in.Lease {
			want.State, want.Attempt, want.StartedAt, want.NextAt = ledger.Running, 1, got.Now, time.Time{}
			want.LeasedBy, want.LeasedUntil = "p", got.Now.Add(time.Minute)
			want.SendBefore, want.KeySafeUntil = got.Now.Add(in.Call.Horizon), got.Now.Add(in.Call.Horizon)
		}
		if !reflect.DeepEqual(run, want) {
			t.Errorf("%s is\n%+v, want\n%+v", id, run, want)
		}
	}
	f.recordApart(t, r, got.Leased)
}

// someKind gives a scheduled time one of some kinds.
func someKind(r *rand.Rand, in ledger.RunSpec) ledger.RunSpec {
	in.Trigger = []ledger.Trigger{ledger.BySchedule, ledger.ByCatchUp}[r.IntN(2)]
	if r.IntN(4) == 0 {
		in.State, in.Reason, in.Call, in.Lease = ledger.Superseded, ledger.Reason(fmt.Sprintf("why-%d", r.IntN(2))), ledger.CallSpec{}, false
		return in
	}
	in.Lease = r.IntN(4) > 0
	in.Call.Target = fmt.Sprintf("TARGET_%d", r.IntN(3))
	in.Call.Path = fmt.Sprintf("/%d", r.IntN(3))
	in.Call.Horizon = time.Duration(1+r.IntN(2)) * time.Hour
	if r.IntN(4) == 0 {
		in.Call.Body = json.RawMessage(nil)
	}
	return in
}

// recordApart records outcomes of some kinds and looks at each.
func (f *fleet) recordApart(t *testing.T, r *rand.Rand, work []ledger.Work) {
	t.Helper()
	var outcomes []ledger.Outcome
	for _, w := range work {
		o := succeeded(w)
		o.Failures, o.Replayed = r.IntN(2), r.IntN(2) == 0
		o.State = []ledger.State{ledger.Succeeded, ledger.Dead}[r.IntN(2)]
		o.Reason = ledger.Reason([]string{"", "exhausted"}[r.IntN(2)])
		at := &o.Attempt
		at.StartedAt = time.UnixMicro(r.Int64N(1 << 50)).UTC()
		at.FinishedAt = at.StartedAt.Add(time.Microsecond)
		at.RunID, at.Status, at.Answer = w.RunID, 200+r.IntN(3), []ledger.AnswerKind{ledger.AnswerFresh, ledger.AnswerRefused}[r.IntN(2)]
		at.Code, at.Error, at.Detail, at.Process = some(r, "code"), some(r, "error"), some(r, "detail"), some(r, "owner")
		outcomes = append(outcomes, o)
	}
	results, err := f.Record(t.Context(), outcomes)
	must(t, err)
	for i, o := range outcomes {
		run, attempts, err := f.Get(t.Context(), o.RunID)
		must(t, err)
		if results[i] != ledger.Recorded || !reflect.DeepEqual(attempts, []ledger.Attempt{o.Attempt}) {
			t.Errorf("%s: %s\n%+v, want\n%+v", o.RunID, results[i], attempts, o.Attempt)
		}
		if run.State != o.State || run.Reason != o.Reason || run.Failures != o.Failures || run.Replayed != o.Replayed || run.Status != o.Attempt.Status {
			t.Errorf("%+v, want what is recorded of\n%+v", run, o)
		}
	}
}

func some(r *rand.Rand, what string) string { return fmt.Sprintf("%s-%d", what, r.IntN(2)) }

// Its row is written once; a second call under its lease would be one too many.
func TestAScheduledTimeThatIsPlannedTwiceIsLeasedOnce(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapAllow)
	p := f.plan(0, true)
	p.Runs = append(p.Runs, p.Runs[0])
	got, err := f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{p}, Process: "p", Token: "t", LeaseFor: time.Minute})
	if err != nil || len(got.Leased) != 1 {
		t.Errorf("leased %d times: %v", len(got.Leased), err)
	}
}

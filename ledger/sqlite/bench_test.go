package sqlite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/sqlite"
)

const batch = 500

// BenchmarkAdmitRecord is the ledger's part of the usual run: admitted already
// leased, recorded with its attempt, in batches of 500 from 500 jobs.
func BenchmarkAdmitRecord(b *testing.B) {
	for _, overlap := range []ledger.Overlap{ledger.OverlapSkip, ledger.OverlapAllow} {
		b.Run(string(overlap), func(b *testing.B) {
			f := newFleet(b, overlap)
			for b.Loop() {
				f.record(b, f.admit(b, true))
			}
			f.report(b)
		})
	}
}

// BenchmarkAdmitClaimRecord is the way of runs that could not start at once.
func BenchmarkAdmitClaimRecord(b *testing.B) {
	f := newFleet(b, ledger.OverlapSkip)
	for b.Loop() {
		f.admit(b, false)
		got, err := f.Claim(b.Context(), ledger.ClaimRequest{Process: "p", Token: f.token(), Limit: batch, LeaseFor: time.Minute})
		if err != nil || len(got.Work) != batch {
			b.Fatalf("claimed %d: %v", len(got.Work), err)
		}
		f.record(b, got.Work)
	}
	f.report(b)
}

// fleet is a ledger with a batch of jobs, on a clock that goes on a second at
// each round.
type fleet struct {
	*sqlite.Ledger
	clock   *clock
	overlap ledger.Overlap
	stands  []ledger.JobAssignment
	tokens  int
}

func newFleet(t testing.TB, overlap ledger.Overlap) *fleet {
	t.Helper()
	f := &fleet{clock: &clock{}, overlap: overlap}
	f.Ledger = open(t, newFile(t), f.clock)
	f.begin(t, batch)
	return f
}

func (f *fleet) begin(t testing.TB, jobs int) {
	t.Helper()
	var defs []ledger.Definition
	d := ledger.Declaration{Process: "p", Registry: "acme", Version: "v1"}
	for i := range jobs {
		defs = append(defs, ledger.Definition{JobID: fmt.Sprintf("job-%03d", i), Hash: "h", Body: bytes.Repeat([]byte{'x'}, 600)})
	}
	d.Definitions = slices.Values(defs)
	if err := f.Declare(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.stands, err = ledgertest.Assignments(t.Context(), f.Ledger, "v1"); err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) token() string {
	f.tokens++
	return fmt.Sprintf("a-random-token-of-the-usual-size-%06d", f.tokens)
}

// admit plans one scheduled time of each job.
func (f *fleet) admit(t testing.TB, lease bool) []ledger.Work {
	t.Helper()
	f.clock.shift.Add(int64(time.Second))
	a := ledger.Admission{Process: "p", Token: f.token(), LeaseFor: time.Minute}
	for i := range f.stands {
		a.Plans = append(a.Plans, f.plan(&f.stands[i], f.overlap, lease))
	}
	got, err := f.Admit(t.Context(), a)
	if err != nil || len(got.Stale) > 0 || len(got.Skipped) > 0 {
		t.Fatalf("stale %d, skipped %v: %v", len(got.Stale), got.Skipped, err)
	}
	return got.Leased
}

func idOf(jobID string, at time.Time) string { return jobID + "@" + at.UTC().Format(time.RFC3339) }

// plan is the scheduled time a second after the job's watermark.
func (f *fleet) plan(s *ledger.JobAssignment, overlap ledger.Overlap, lease bool) ledger.Plan {
	scheduled := s.Watermark.Truncate(time.Second).Add(time.Second)
	in := ledger.RunSpec{
		RunID: idOf(s.JobID, scheduled), ScheduledAt: scheduled, Count: 1, State: ledger.Planned,
		Trigger: ledger.BySchedule, Overlap: overlap, Lease: lease, Call: call(s.JobID, scheduled),
	}
	p := ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: scheduled, Runs: []ledger.RunSpec{in}}
	s.Watermark = scheduled
	return p
}

func call(jobID string, scheduled time.Time) ledger.CallSpec {
	at := scheduled.Format(time.RFC3339)
	return ledger.CallSpec{
		Target: "MEMBERSHIP_URL", Method: "POST", Path: "/v1/admin/commission-locks/release-expired",
		Body:   json.RawMessage(`{"jobId":"` + jobID + `","runId":"` + jobID + `@` + at + `","scheduledAt":"` + at + `"}`),
		Scopes: []string{"membership:admin"}, Timeout: 30 * time.Second,
		Backoff: []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second},
		Jitter:  0.2, MaxRetryAfter: 5 * time.Minute, Horizon: time.Hour,
	}
}

func (f *fleet) record(t testing.TB, work []ledger.Work) {
	t.Helper()
	recordAll(t, f.Ledger, work)
}

// recordAll has every run succeed.
func recordAll(t testing.TB, l *sqlite.Ledger, work []ledger.Work) {
	t.Helper()
	now := time.Now()
	var outcomes []ledger.Outcome
	for _, w := range work {
		outcomes = append(outcomes, ledger.Outcome{
			Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Succeeded,
			Attempt: ledger.Attempt{N: w.Attempt, StartedAt: now, FinishedAt: now, Answer: ledger.AnswerFresh, Status: 200, Process: "p"},
		})
	}
	results, err := l.Record(t.Context(), outcomes)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		if result != ledger.Recorded {
			t.Fatalf("%s: %s", outcomes[i].RunID, result)
		}
	}
}

func (f *fleet) report(b *testing.B) {
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkAssignments is what a process asks when the live versions have changed.
func BenchmarkAssignments(b *testing.B) {
	f := &fleet{clock: &clock{}}
	f.Ledger = open(b, newFile(b), f.clock)
	f.begin(b, 10_000)
	for b.Loop() {
		if list, err := ledgertest.Assignments(b.Context(), f.Ledger, "v1"); err != nil || len(list) != 10_000 {
			b.Fatalf("%d assignments: %v", len(list), err)
		}
	}
}

// BenchmarkClaimPastABusyTarget claims where 20,000 due runs have to be passed
// over, because their target's breaker is open.
func BenchmarkClaimPastABusyTarget(b *testing.B) {
	f := newFleet(b, ledger.OverlapAllow)
	for range 40 {
		f.admit(b, false)
	}
	c := ledger.ClaimRequest{Process: "p", Limit: batch, LeaseFor: time.Minute, BusyTargets: []string{"MEMBERSHIP_URL"}}
	for b.Loop() {
		c.Token = f.token()
		if got, err := f.Claim(b.Context(), c); err != nil || len(got.Work) > 0 {
			b.Fatalf("claimed %d: %v", len(got.Work), err)
		}
	}
}

func BenchmarkClaimWhileRunsWait(b *testing.B) {
	ledgertest.BenchmarkClaim(b, func(b *testing.B) (ledger.Store, ledger.Rows) {
		l := open(b, newFile(b), &clock{})
		return l, l.Rows()
	})
}

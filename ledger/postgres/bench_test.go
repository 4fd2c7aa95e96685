package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// BenchmarkAdmitRecord is the ledger's part of the usual run: admitted already
// leased, then recorded with its attempt, in batches of one run of each job.
func BenchmarkAdmitRecord(b *testing.B) {
	for _, overlap := range []ledger.Overlap{ledger.OverlapSkip, ledger.OverlapAllow} {
		for _, jobs := range []int{1, 50, 500} {
			b.Run(fmt.Sprintf("%s/batch=%d", overlap, jobs), func(b *testing.B) {
				f := newFleet(b, jobs, overlap)
				for b.Loop() {
					f.record(b, f.admit(b, true))
				}
				f.report(b)
			})
		}
	}
}

// BenchmarkAdmitClaimRecord is the way of runs that could not start at once.
func BenchmarkAdmitClaimRecord(b *testing.B) {
	f := newFleet(b, 500, ledger.OverlapSkip)
	for b.Loop() {
		f.admit(b, false)
		got, err := f.Claim(b.Context(), ledger.ClaimRequest{Process: "p", Token: f.token(), Limit: 500, LeaseFor: time.Minute})
		if err != nil || len(got.Work) != 500 {
			b.Fatalf("claimed %d: %v", len(got.Work), err)
		}
		f.record(b, got.Work)
	}
	f.report(b)
}

// fleet is a ledger with jobs that were begun long ago, each planned a second
// further in each round.
type fleet struct {
	ledger.Store
	url      string
	overlap  ledger.Overlap
	stands   []ledger.JobAssignment
	tokens   int
	runs     int
	position string // of changes
	apart    bool   // no two scheduled times, and no two outcomes, are of one kind
}

func newFleet(t testing.TB, jobs int, overlap ledger.Overlap) *fleet {
	t.Helper()
	return newFleetAt(t, testdb.Postgres(t), jobs, overlap)
}

func newFleetAt(t testing.TB, url string, jobs int, overlap ledger.Overlap) *fleet {
	t.Helper()
	execute(t, url, tables(t, migrations.DefaultSchema))
	f := &fleet{url: url, overlap: overlap}
	f.open(t, url)
	var defs []ledger.Definition
	d := ledger.Declaration{Process: "p", Registry: "acme", Version: "v1"}
	for i := range jobs {
		defs = append(defs, ledger.Definition{JobID: fmt.Sprintf("job-%05d", i), Hash: "h", Body: []byte("{}")})
	}
	d.Definitions = slices.Values(defs)
	must(t, f.Declare(t.Context(), d))
	_, err := ledgertest.Assignments(t.Context(), f.Store, "v1")
	must(t, err)
	execute(t, url, `UPDATE cronce.jobs SET watermark = date_trunc('day', now(), 'UTC') - interval '30 days'`)
	f.stands, err = ledgertest.Assignments(t.Context(), f.Store, "v1")
	must(t, err)
	return f
}

// open opens the fleet's ledger, perhaps again.
func (f *fleet) open(t testing.TB, url string, options ...postgres.Option) {
	t.Helper()
	f.Store = open(t, url, options...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
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
	a := ledger.Admission{Process: "p", Token: f.token(), LeaseFor: time.Minute}
	for i := range f.stands {
		a.Plans = append(a.Plans, f.plan(i, lease))
	}
	got, err := f.Admit(t.Context(), a)
	if err != nil || len(got.Stale) > 0 || len(got.Skipped) > 0 {
		t.Fatalf("stale %d, skipped %v: %v", len(got.Stale), got.Skipped, err)
	}
	return got.Leased
}

// plan is the first scheduled time after the i-th job's watermark.
func (f *fleet) plan(i int, lease bool) ledger.Plan {
	s := &f.stands[i]
	at := s.Watermark.Truncate(time.Second).Add(time.Second)
	in := ledger.RunSpec{
		RunID: s.JobID + "@" + at.Format(time.RFC3339), ScheduledAt: at, Count: 1, State: ledger.Planned,
		Trigger: ledger.BySchedule, Overlap: f.overlap, Lease: lease, Call: call(s.JobID, at),
	}
	if f.apart {
		in.Call.Path = "/" + s.JobID
	}
	p := ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: at, Runs: []ledger.RunSpec{in}}
	s.Watermark = at
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

// record writes that all of the work succeeded.
func (f *fleet) record(t testing.TB, work []ledger.Work) {
	t.Helper()
	var outcomes []ledger.Outcome
	for _, w := range work {
		o := succeeded(w)
		if f.apart {
			o.Attempt.Process = w.RunID
		}
		outcomes = append(outcomes, o)
	}
	results, err := f.Record(t.Context(), outcomes)
	must(t, err)
	for i, result := range results {
		if result != ledger.Recorded {
			t.Fatalf("%s: %s", outcomes[i].RunID, result)
		}
	}
	f.runs += len(work)
}

func succeeded(w ledger.Work) ledger.Outcome {
	now := time.Now()
	return ledger.Outcome{
		Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Succeeded,
		Attempt: ledger.Attempt{N: w.Attempt, StartedAt: now, FinishedAt: now, Answer: ledger.AnswerFresh, Status: 200, Process: "p"},
	}
}

func (f *fleet) report(b *testing.B) {
	b.ReportMetric(float64(f.runs)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(f.runs), "us/run")
}

func BenchmarkClaimWhileRunsWait(b *testing.B) {
	ledgertest.BenchmarkClaim(b, func(b *testing.B) (ledger.Store, ledger.Rows) {
		l := open(b, migrated(b))
		return l, postgres.RowsOf(l)
	})
}

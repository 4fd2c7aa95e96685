package cleanup_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// fakeRuns is a ledger with so many runs past their retention, of which the
// first of each full batch is revived before it is deleted.
type fakeRuns struct {
	runs          int
	revives       bool
	err           error
	purges        []ledger.Purge
	history       int
	historyPurges []ledger.HistoryPurge
}

func (f *fakeRuns) PurgeRuns(_ context.Context, p ledger.Purge) (ledger.Purged, error) {
	f.purges = append(f.purges, p)
	if f.err != nil || p.DryRun {
		return ledger.Purged{Runs: f.runs}, f.err
	}
	n := min(f.runs, p.Batch)
	f.runs -= n
	got := ledger.Purged{Runs: n, Next: ledger.PurgeCursor{After: p.From.After.Add(time.Minute)}, More: n == p.Batch}
	if f.revives && got.More {
		got.Runs--
	}
	return got, nil
}

func (f *fakeRuns) PurgeHistory(_ context.Context, p ledger.HistoryPurge) (ledger.PurgedHistory, error) {
	f.historyPurges = append(f.historyPurges, p)
	if p.DryRun {
		return ledger.PurgedHistory{Audit: f.history}, nil
	}
	n := min(f.history, p.Batch)
	f.history -= n
	return ledger.PurgedHistory{Audit: n, More: n == p.Batch}, nil
}

func TestTheLedgersHistoryGoesAfterItsRuns(t *testing.T) {
	runs := &fakeRuns{runs: 1500, history: 2500}
	p := purging(t)
	p.Runs, p.Pace = runs, purge.Pace{Share: 1, BatchSize: 1000}
	report, err := p.Run(t.Context())
	if err != nil || report.Runs != 1500 || report.History != 2500 || report.Ledger != nil {
		t.Errorf("%+v, %v", report, err)
	}
	for _, ask := range runs.historyPurges {
		if ask.AuditRetention != 365*24*time.Hour || ask.Retention != 30*24*time.Hour {
			t.Errorf("got %+v, want the registry's retentions", ask)
		}
	}
	p.DryRun, p.Runs = true, &fakeRuns{history: 7}
	if report, err = p.Run(t.Context()); err != nil || report.History != 7 {
		t.Errorf("a dry run: %+v, %v", report, err)
	}
}

func TestFinishedRunsGoInBatchesPastTheRegistrysRetention(t *testing.T) {
	runs := &fakeRuns{runs: 7}
	p := purging(t)
	p.Runs = runs
	report, err := p.Run(t.Context())
	if err != nil || report.Runs != 7 || report.Deleted != 0 || report.Ledger != nil {
		t.Errorf("%+v, %v", report, err)
	}
	if len(runs.purges) != 3 {
		t.Fatalf("purged %d times: %+v", len(runs.purges), runs.purges)
	}
	for i, ask := range runs.purges {
		if ask.Retention != 720*time.Hour || ask.DeadRetention != 2160*time.Hour || ask.Batch != 3 ||
			!ask.From.After.Equal(time.Time{}.Add(time.Duration(i)*time.Minute)) {
			t.Errorf("batch %d: %+v", i, ask)
		}
	}
}

func TestAPurgeGoesOnBehindRunsThatWereRevived(t *testing.T) {
	runs := &fakeRuns{runs: 7, revives: true}
	p := purging(t)
	p.Runs = runs
	if report, err := p.Run(t.Context()); err != nil || report.Runs != 5 || len(runs.purges) != 3 {
		t.Errorf("%+v, %v, purged %d times: want 5 deleted of 7 in 3 batches", report, err, len(runs.purges))
	}
}

func TestALedgerThatFailsDoesNotStopTheKeys(t *testing.T) {
	b := &batches{rows: []int{2}}
	p := purging(t, cleanup.Store{Name: "db", Open: b.store})
	p.Runs = &fakeRuns{err: ledger.ErrUnavailable}
	report, err := p.Run(t.Context())
	if !errors.Is(err, ledger.ErrUnavailable) || report.Deleted != 2 || report.Ledger == nil || report.Ledger.Error == "" {
		t.Errorf("%+v, %v", report, err)
	}
}

// A template's own retention reaches the purge of runs and that of schedules.
func TestATemplatesRetentionIsPurgedBy(t *testing.T) {
	r, err := jobs.Parse("jobs.yaml", []byte(`{name: acme, jobs: [
		{id: a, keyed: {max: 1, retention: 48h}, targetUrlEnv: A, path: /a},
		{id: b, keyed: {max: 1}, targetUrlEnv: A, path: /b}]}`))
	if err != nil {
		t.Fatal(err)
	}
	runs := &fakeRuns{}
	if _, err := cleanup.New(r, nil, runs).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []ledger.TemplateRetention{{Template: "a", Retention: 48 * time.Hour}}
	if !slices.Equal(runs.purges[0].Templates, want) || !slices.Equal(runs.historyPurges[0].Templates, want) {
		t.Errorf("runs %v, schedules %v, want %v", runs.purges[0].Templates, runs.historyPurges[0].Templates, want)
	}
}

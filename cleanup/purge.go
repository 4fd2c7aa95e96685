package cleanup

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Store is one key store to purge.
type Store struct {
	Name string
	// Open is called when the purge of this store begins, so that a store that cannot be
	// reached does not affect the others. close is called when its purge is over.
	Open func(context.Context) (keys purge.Store, close func(), err error)
}

// Runs is the part of a ledger.Store that deletes finished runs and old history.
type Runs interface {
	PurgeRuns(context.Context, ledger.Purge) (ledger.Purged, error)
	PurgeHistory(context.Context, ledger.HistoryPurge) (ledger.PurgedHistory, error)
}

// Observer receives what a purge removes. Its methods are called from several
// goroutines and must not block.
type Observer interface {
	// Removed is called for each batch of keys that was deleted, with their number by
	// key scope.
	Removed(store string, scopes map[string]int64, took time.Duration)
	// RemovedRuns is called for each batch of finished runs that was deleted.
	RemovedRuns(n int, took time.Duration)
	// Ended is called when the purge of a store is done, has used up its time, or failed.
	Ended(StoreReport)
}

type nopObserver struct{}

func (nopObserver) Removed(string, map[string]int64, time.Duration) {}
func (nopObserver) RemovedRuns(int, time.Duration)                  {}
func (nopObserver) Ended(StoreReport)                               {}

// Purge deletes expired keys from every key store, and old runs from the ledger. Make it
// with New.
//
// A purge may be stopped at any moment, and several may run at once: each batch is a
// transaction of its own. It never deletes a key that has not expired (see purge.Store)
// or an unfinished run (see ledger.Purge).
type Purge struct {
	Stores []Store
	Runs   Runs // nil: only keys

	Retention, DeadRetention, AuditRetention time.Duration

	Templates []ledger.TemplateRetention // with a retention of their own
	// TTL returns the TTL of a key scope, and the keyTTLs scope that it is from; "" is
	// the default.
	TTL func(scope string) (ttl time.Duration, rule string)

	DryRun   bool // count what would be deleted, and delete nothing
	Pace     purge.Pace
	Observer Observer
	Logger   *slog.Logger
}

// New returns the Purge that a registry configures. If runs is nil, it deletes only keys.
func New(r *jobs.Registry, stores []Store, runs Runs) Purge {
	c := r.Cleanup()
	p := Purge{
		Stores: stores, Runs: runs, Retention: c.LedgerRetention, DeadRetention: c.DeadRetention, AuditRetention: c.AuditRetention,
		TTL: r.TTL, Observer: nopObserver{}, Logger: slog.New(slog.DiscardHandler),
	}
	for _, t := range r.Templates() {
		if t.Retention > 0 {
			p.Templates = append(p.Templates, ledger.TemplateRetention{Template: t.ID, Retention: t.Retention})
		}
	}
	return p
}

// Run purges all stores and the ledger in parallel. A store that fails does not stop the
// others. The error names each store that failed; the report has what was deleted.
func (p Purge) Run(ctx context.Context) (Report, error) {
	stores := make([]StoreReport, len(p.Stores))
	var group sync.WaitGroup
	for i, s := range p.Stores {
		group.Go(func() {
			stores[i] = p.purgeStore(ctx, s)
			p.reportEnd(stores[i])
		})
	}
	var runs StoreReport
	if p.Runs != nil {
		runs = p.purgeLedger(ctx)
		p.reportEnd(runs)
	}
	group.Wait()
	return p.summarize(stores, runs)
}

// purgeStore deletes the expired keys of one store.
func (p Purge) purgeStore(ctx context.Context, s Store) StoreReport {
	r := StoreReport{Name: s.Name, scopes: map[string]int64{}}
	keys, done, err := s.Open(ctx)
	if err != nil {
		r.fail(fmt.Errorf("key store %s: %w", s.Name, err))
		return r
	}
	defer done()
	if p.DryRun {
		r.scopes, err = keys.CountExpired(ctx, "")
	} else {
		err = p.deleteExpired(ctx, keys, &r)
	}
	for _, n := range r.scopes {
		r.Deleted += n
	}
	if err != nil {
		r.fail(fmt.Errorf("key store %s: %w", s.Name, err))
	}
	return r
}

// deleteExpired purges at the pace and counts what is left if the time runs out.
func (p Purge) deleteExpired(ctx context.Context, keys purge.Store, r *StoreReport) error {
	done, err := p.Pace.Purge(ctx, keys, "", func(got purge.BatchResult, took time.Duration) {
		for s, n := range got.Scopes {
			r.scopes[s] += n
		}
		p.Observer.Removed(r.Name, got.Scopes, took)
	})
	if err != nil || done {
		return err
	}
	left, err := keys.CountExpired(ctx, "")
	for _, n := range left {
		r.Remaining += n
	}
	return err
}

// purgeLedger purges the ledger's finished runs, then its history.
func (p Purge) purgeLedger(ctx context.Context) StoreReport {
	r := StoreReport{Name: FinishedRuns}
	runsPurge := ledger.Purge{Retention: p.Retention, DeadRetention: p.DeadRetention, Templates: p.Templates}
	historyPurge := ledger.HistoryPurge{Retention: p.Retention, AuditRetention: p.AuditRetention, Templates: p.Templates}
	if p.DryRun {
		var err error
		r.Deleted, r.history, err = p.count(ctx, runsPurge, historyPurge)
		r.fail(err)
		return r
	}
	runsDone := false
	pace := p.Pace
	pace.BatchSize = min(pace.BatchSize, runsBatch)
	if pace.BatchSize <= 0 {
		pace.BatchSize = runsBatch
	}
	done, err := pace.Run(ctx, func(ctx context.Context, limit int) (int, error) {
		if runsDone {
			historyPurge.Batch = limit
			got, err := p.Runs.PurgeHistory(ctx, historyPurge)
			r.history += int64(got.Total())
			if got.More {
				return limit, err
			}
			return 0, err
		}
		start := time.Now()
		runsPurge.Batch = limit
		got, err := p.Runs.PurgeRuns(ctx, runsPurge)
		if err != nil {
			return 0, err
		}
		runsPurge.From = got.Next
		r.Deleted += int64(got.Runs)
		p.Observer.RemovedRuns(got.Runs, time.Since(start))
		runsDone = !got.More
		// A batch that is not full may have more after it: some of its runs were revived. After the
		// last batch of runs the history follows.
		return limit, nil
	})
	if err == nil && !done {
		var runs, history int64
		runsPurge.From = ledger.PurgeCursor{}
		runs, history, err = p.count(ctx, runsPurge, historyPurge)
		r.Remaining = runs + history
	}
	r.fail(err)
	return r
}

// count counts the finished runs, and the rows of the history, that are past their
// retention.
func (p Purge) count(ctx context.Context, runsPurge ledger.Purge, historyPurge ledger.HistoryPurge) (runs, rows int64, err error) {
	runsPurge.DryRun, historyPurge.DryRun = true, true
	got, err := p.Runs.PurgeRuns(ctx, runsPurge)
	if err != nil {
		return 0, 0, err
	}
	history, err := p.Runs.PurgeHistory(ctx, historyPurge)
	return int64(got.Runs), int64(history.Total()), err
}

// runsBatch is as large as a batch of keys at the usual pace, and smaller than
// one at full pace: a run goes with its attempts.
const runsBatch = 1000

// reportEnd tells the observer and the log how the purge of a store ended.
func (p Purge) reportEnd(r StoreReport) {
	p.Observer.Ended(r)
	attrs := []any{"store", r.Name, "deleted", r.Deleted, "dryRun", p.DryRun}
	switch {
	case r.Err != nil:
		p.Logger.Error("purge failed; removed keys stay removed", append(attrs, "error", r.Err)...)
	case r.Remaining > 0:
		p.Logger.Warn("purge ran out of time; the next purge continues", append(attrs, "left", r.Remaining)...)
	default:
		p.Logger.Info("purged", attrs...)
	}
}

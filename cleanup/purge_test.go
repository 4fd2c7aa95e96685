package cleanup_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/jobs"
)

// day is a registry's TTLs as in the example.
const payments = "route:POST_/v1/payments"

func registry(t testing.TB, entries ...jobs.Entry) *jobs.Registry {
	t.Helper()
	r, err := jobs.NewRegistry(append(entries, jobs.Name("acme"))...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ttls(t testing.TB) *jobs.Registry {
	return registry(t, jobs.KeyTTL{Scope: payments, TTL: 168 * time.Hour}, jobs.KeyTTL{Scope: "event:*", TTL: 720 * time.Hour})
}

// purging is a purge of the given stores, in batches of three without pauses.
func purging(t testing.TB, stores ...cleanup.Store) cleanup.Purge {
	p := cleanup.New(ttls(t), stores, nil)
	p.Pace = purge.Pace{BatchSize: 3, Share: 1}
	return p
}

func TestPurgeRemovesWhatHasExpiredAndNothingElse(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, k *keys) {
		k.put(payments, 7, 0) // the first expires as it is written: equality is expired
		k.put("event:a", 4, 1000)
		k.put("route:GET_/x", 2, 1000)
		k.put("alive", 3, -3_600_000)
		k.putUnfinished("calling")
		k.putUnfinished("unknown")

		report, err := purging(t, cleanup.Store{Name: "db", Open: k.store}).Run(t.Context())
		want := []cleanup.Scope{{Scope: "event:a", Deleted: 4}, {Scope: "route:GET_/x", Deleted: 2}, {Scope: payments, Deleted: 7}}
		if err != nil || report.Deleted != 13 || !slices.Equal(report.Scopes, want) {
			t.Errorf("report %+v, %v", report, err)
		}
		if want := []string{"route:GET_/x"}; !slices.Equal(report.ByDefault, want) {
			t.Errorf("only the default covers %v, want %v", report.ByDefault, want)
		}
		if k.left("alive") != 3 || k.left("call") != 2 || k.left(payments) != 0 {
			t.Errorf("left %d alive, %d unfinished, %d expired", k.left("alive"), k.left("call"), k.left(payments))
		}
	})
}

func TestDryRunCountsWhatThePurgeRemoves(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, k *keys) {
		k.put("a", 5, 0)
		k.put("b", 2, 0)
		p := purging(t, cleanup.Store{Name: "db", Open: k.store})
		p.DryRun = true
		for range 2 {
			if report, err := p.Run(t.Context()); err != nil || report.Deleted != 7 || !report.DryRun {
				t.Fatalf("dry: %+v, %v", report, err)
			}
		}
	})
}

func TestTwoPurgesAtOnceShareTheWork(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, k *keys) {
		k.put("a", 60, 0)
		var reports [2]cleanup.Report
		var group sync.WaitGroup
		for i := range reports {
			group.Go(func() {
				var err error
				if reports[i], err = purging(t, cleanup.Store{Name: "db", Open: k.store}).Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if sum := reports[0].Deleted + reports[1].Deleted; sum+k.left("a") != 60 {
			t.Errorf("removed %d, left %d of 60", sum, k.left("a"))
		}
		// One may have seen only rows that the other was about to remove.
		if report, err := purging(t, cleanup.Store{Name: "db", Open: k.store}).Run(t.Context()); err != nil || k.left("a") != 0 {
			t.Errorf("%+v, %v; %d left", report, err, k.left("a"))
		}
	})
}

func TestAPurgeStoppedBetweenBatchesLosesNothing(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, k *keys) {
		k.put("a", 20, 0)
		ctx, stop := context.WithCancel(t.Context())
		p := purging(t, cleanup.Store{Name: "db", Open: k.store})
		p.Observer = &stopper{after: 2, stop: stop}
		report, err := p.Run(ctx)
		if !errors.Is(err, context.Canceled) || report.Deleted != 6 || k.left("a") != 14 {
			t.Fatalf("stopped: %+v, %v; %d left", report, err, k.left("a"))
		}
		p.Observer = &stopper{stop: func() {}}
		if report, err = p.Run(t.Context()); err != nil || report.Deleted != 14 || k.left("a") != 0 {
			t.Errorf("again: %+v, %v", report, err)
		}
	})
}

// stopper stops the purge after some batches.
type stopper struct {
	after, batches int
	stop           func()
	ended          []cleanup.StoreReport
}

func (s *stopper) Removed(string, map[string]int64, time.Duration) {
	if s.batches++; s.batches == s.after {
		s.stop()
	}
}
func (s *stopper) RemovedRuns(int, time.Duration) {}
func (s *stopper) Ended(r cleanup.StoreReport)    { s.ended = append(s.ended, r) }

func TestAStoreThatFailsDoesNotStopTheOthers(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, k *keys) {
		k.put("a", 4, 0)
		down := errors.New("no route to host")
		p := purging(t,
			cleanup.Store{Name: "unreachable", Open: func(context.Context) (purge.Store, func(), error) { return nil, nil, down }},
			cleanup.Store{Name: "db", Open: k.store},
		)
		report, err := p.Run(t.Context())
		if !errors.Is(err, down) || !strings.Contains(err.Error(), "key store unreachable") {
			t.Errorf("error %v", err)
		}
		if report.Deleted != 4 || report.Stores[0].Error == "" || report.Stores[1].Error != "" {
			t.Errorf("report %+v", report)
		}
	})
}

// batches is a store that removes so many keys a batch until none is left.
type batches struct {
	rows  []int
	after []time.Time
	took  time.Duration
	err   error
}

func (b *batches) PurgeBatch(_ context.Context, p purge.Batch) (purge.BatchResult, error) {
	b.after = append(b.after, p.After)
	if len(b.rows) == 0 {
		return purge.BatchResult{Last: p.After}, b.err
	}
	time.Sleep(b.took)
	n := min(b.rows[0], p.Limit)
	b.rows = b.rows[1:]
	return purge.BatchResult{Scopes: map[string]int64{"a": int64(n)}, Rows: n, Last: p.After.Add(time.Minute)}, nil
}

func (b *batches) CountExpired(context.Context, string) (map[string]int64, error) {
	var left int64
	for _, n := range b.rows {
		left += int64(n)
	}
	return map[string]int64{"a": left}, nil
}

func (b *batches) store(context.Context) (purge.Store, func(), error) {
	return b, func() {}, nil
}

func TestEachBatchGoesOnWhereTheLastOneEnded(t *testing.T) {
	b := &batches{rows: []int{3, 3, 1}}
	if _, err := purging(t, cleanup.Store{Name: "db", Open: b.store}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := time.Time{}
	if want := []time.Time{start, start.Add(time.Minute), start.Add(2 * time.Minute)}; !slices.Equal(b.after, want) {
		t.Errorf("began after %v, want %v", b.after, want)
	}
}

func TestAStoreThatFailsInMidPurgeReportsWhatWasDone(t *testing.T) {
	b := &batches{rows: []int{3, 3}, err: idempotency.ErrUnavailable}
	report, err := purging(t, cleanup.Store{Name: "db", Open: b.store}).Run(t.Context())
	if !errors.Is(err, idempotency.ErrUnavailable) || report.Deleted != 6 || report.Stores[0].Deleted != 6 {
		t.Errorf("%+v, %v", report, err)
	}
}

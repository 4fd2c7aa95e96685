package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// caller is one call of a crowd of callers.
type caller struct {
	kit           *idempotency.Kit
	store         *faultyStore
	scope, key    string
	payload       string
	timeout, work time.Duration // timeout: 0 for ever
	fails, panics bool
	inside        bool // a transaction of its own
	commits       bool
}

// result says what was done for whom.
type result struct{ Scope, Key, Payload, Run string }

func (c caller) run(t *testing.T) (err error) {
	ctx := t.Context()
	if c.timeout > 0 {
		var leave context.CancelFunc
		ctx, leave = context.WithTimeout(ctx, c.timeout)
		defer leave()
	}
	o := &outer{}
	if c.inside {
		ctx = context.WithValue(ctx, outerKey{}, o)
		defer func() {
			time.Sleep(c.store.lasts())
			for _, end := range o.end {
				end(c.commits)
			}
		}()
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	from, mine := c.store.now(), result{}
	got, duplicate, err := idempotency.Do(ctx, c.kit, idempotency.Operation{Scope: c.scope, Key: c.key, Payload: c.payload},
		func(context.Context) (result, error) {
			time.Sleep(c.work)
			if c.panics {
				panic(errOutcome)
			}
			if c.fails {
				return result{}, errOutcome
			}
			mine = result{c.scope, c.key, c.payload, fmt.Sprint(c.store.now())}
			return mine, nil
		})
	to := c.store.now()
	about := func(k *kept) bool { return k.key.Scope == c.scope && k.key.Value == c.key }
	switch {
	case err == nil && !duplicate && got != mine:
		t.Errorf("%+v did %+v and was told %+v", c, mine, got)
	case err == nil && (got.Scope != c.scope || got.Key != c.key || got.Payload != c.payload):
		t.Errorf("%+v was given the answer of %+v", c, got)
	case err == nil && duplicate && !c.store.wasThere(from, to, func(k *kept) bool {
		return about(k) && string(k.record.Body) == fmt.Sprintf(`{"Scope":%q,"Key":%q,"Payload":%q,"Run":%q}`, got.Scope, got.Key, got.Payload, got.Run)
	}):
		t.Errorf("%+v was given %+v, which was not stored between %d and %d", c, got, from, to)
	case errors.Is(err, idempotency.ErrMismatch) && !c.store.wasThere(from, to, func(k *kept) bool {
		return about(k) && k.record.Fingerprint != mustPrint(c.payload)
	}):
		t.Errorf("%+v was refused, and no other payload was stored between %d and %d", c, from, to)
	}
	return err
}

func mustPrint(payload string) string {
	print, err := idempotency.PayloadFingerprint(payload)
	must(err)
	return print
}

// Whatever becomes of those who lead and look, nobody waits for ever, and
// nobody is told of another key, of another payload, or of what was not stored
// while he asked.
func TestACrowdIsAnsweredWhateverFails(t *testing.T) {
	told := map[string]int{}
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			store, began := newFaultyStore(seed), time.Now()
			var kits []*idempotency.Kit
			for _, wait := range []time.Duration{-1, 2 * time.Millisecond, 20 * time.Millisecond, time.Hour} {
				k, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("p"),
					Wait: wait, StoreTimeout: 30 * time.Millisecond, MaxRun: time.Minute})
				must(err)
				kits = append(kits, k)
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 1))
			ms := func(n int) time.Duration { return time.Duration(random.IntN(n)) * time.Millisecond }
			for range 120 {
				c := caller{kit: kits[random.IntN(4)], store: store, scope: "s" + fmt.Sprint(random.IntN(2)), key: "k" + fmt.Sprint(random.IntN(2)),
					payload: "p" + fmt.Sprint(random.IntN(8)/7), work: ms(4), fails: random.IntN(6) == 0, panics: random.IntN(12) == 0,
					inside: random.IntN(10) == 0, commits: random.IntN(2) == 0}
				if random.IntN(2) == 0 {
					c.timeout = 1 + ms(20)
				}
				at := ms(30)
				all.Go(func() {
					time.Sleep(at)
					err := c.run(t)
					mu.Lock()
					defer mu.Unlock()
					told[kind(err)]++
				})
			}
			for range 6 {
				key := idempotency.Key{Scope: "s" + fmt.Sprint(random.IntN(2)), Principal: "-", Value: "k" + fmt.Sprint(random.IntN(2))}
				at := ms(40)
				all.Go(func() { time.Sleep(at); store.forget(key) })
			}
			all.Wait()
			if took := time.Since(began); took > time.Minute { // virtual
				t.Errorf("seed %d: somebody waited: it took %v", seed, took)
			}
			for i, k := range kits {
				if n := k.Queues(); n != 0 {
					t.Errorf("seed %d, kit %d: %d keys are remembered", seed, i, n)
				}
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(told)
}

func kind(err error) string {
	for _, e := range []error{idempotency.ErrMismatch, idempotency.ErrInProgress, idempotency.ErrUnavailable, errOutcome} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return fmt.Sprint(err)
}

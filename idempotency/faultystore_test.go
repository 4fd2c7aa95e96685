package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// faultyStore is a store in memory for many keys, whose every exchange takes a random
// while and now and then comes to nothing. It keeps what was ever stored, with
// the instants at which each record came and went. Instants are counted, so that
// no two are the same.
type faultyStore struct {
	mu      sync.Mutex
	random  *rand.Rand
	instant int
	held    map[idempotency.Key]bool
	live    map[idempotency.Key]*kept
	all     []*kept
}

// kept is a record, and when it was seen.
type kept struct {
	key       idempotency.Key
	record    *store.Record
	from, end int // end 0: it is live
}

func newFaultyStore(seed uint64) *faultyStore {
	return &faultyStore{random: rand.New(rand.NewPCG(seed, 0)), held: map[idempotency.Key]bool{}, live: map[idempotency.Key]*kept{}}
}

func (s *faultyStore) chance(of int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(of) == 0
}

// lasts is one of few, so that much ends at once.
func (s *faultyStore) lasts() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.random.IntN(5)) * time.Millisecond
}

func (s *faultyStore) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instant++
	return s.instant
}

var (
	errCrowd   = fmt.Errorf("%w: at random", idempotency.ErrUnavailable)
	errOutcome = errors.New("the work failed")
)

// exchange takes a while, and may fail, not be answered, or panic.
func (s *faultyStore) exchange(ctx context.Context) error {
	select {
	case <-time.After(s.lasts()):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case s.chance(12):
		return errCrowd
	case s.chance(30):
		<-ctx.Done()
		return fmt.Errorf("%w: %w", idempotency.ErrUnavailable, ctx.Err())
	case s.chance(40):
		panic(errCrowd)
	}
	return nil
}

type outerKey struct{}

// outer is a transaction of a caller's, in which work is done.
type outer struct{ end []func(commit bool) }

func (*faultyStore) InTransaction(ctx context.Context) bool { return ctx.Value(outerKey{}) != nil }

func (s *faultyStore) Begin(ctx context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	if err := s.exchange(ctx); err != nil {
		return nil, store.KeyStatus{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := store.KeyStatus{}
	if k := s.live[c.Key]; k != nil {
		status.Record = k.record
	} else if !s.held[c.Key] {
		status.Held, s.held[c.Key] = true, true
	}
	o, _ := ctx.Value(outerKey{}).(*outer)
	return &faultyTx{store: s, key: c.Key, held: status.Held, outer: o}, status, nil
}

func (s *faultyStore) Lookup(ctx context.Context, c store.Claim) (status store.KeyStatus, err error) {
	if err := s.exchange(ctx); err != nil {
		return status, err
	}
	s.mu.Lock()
	if k := s.live[c.Key]; k != nil {
		status.Record = k.record
	}
	s.mu.Unlock()
	time.Sleep(s.lasts()) // the answer is on its way
	return status, nil
}

// forget is the record's expiry.
func (s *faultyStore) forget(key idempotency.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.live[key]; k != nil {
		s.instant++
		k.end = s.instant
		delete(s.live, key)
	}
}

func (s *faultyStore) store(c store.Claim, r idempotency.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instant++
	k := &kept{key: c.Key, record: done(c, r), from: s.instant}
	s.live[c.Key], s.all = k, append(s.all, k)
}

// wasThere: such a record was live at an instant between the two.
func (s *faultyStore) wasThere(from, to int, such func(*kept) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.all {
		if k.from <= to && (k.end == 0 || k.end >= from) && such(k) {
			return true
		}
	}
	return false
}

type faultyTx struct {
	store *faultyStore
	key   idempotency.Key
	held  bool
	outer *outer
}

func (t *faultyTx) Context(ctx context.Context) context.Context { return ctx }

func (t *faultyTx) Commit(ctx context.Context, c store.Claim, r idempotency.Reply) (time.Time, error) {
	if t.outer != nil {
		t.outer.end = append(t.outer.end, func(commit bool) {
			if commit {
				t.store.store(c, r)
			}
			t.Rollback(ctx)
		})
		return time.Now().Add(time.Hour), nil
	}
	defer t.Rollback(ctx)
	if t.store.chance(10) {
		return time.Time{}, errCrowd
	}
	t.store.store(c, r)
	if t.store.chance(10) {
		return time.Time{}, errCrowd // its answer is lost
	}
	return time.Now().Add(time.Hour), nil
}

func (t *faultyTx) Rollback(context.Context) error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.held {
		t.store.held[t.key], t.held = false, false
	}
	return nil
}

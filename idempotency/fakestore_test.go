package idempotency_test

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// fakeStore is a store in memory for one key. It counts what it is asked, and a test
// can hold that up or have it fail.
type fakeStore struct {
	mu                     sync.Mutex
	record                 *store.Record
	held                   bool
	late                   bool // the clock is past every send-before time
	begins, looks, commits int

	onBegin  func(n int) error // called for the nth, from 1, before anything is read; nil: nothing
	onLook   func(ctx context.Context, n int) error
	onCommit func(n int) error // called before the record is written
}

func (s *fakeStore) Begin(_ context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	if err := s.begun(); err != nil {
		return nil, store.KeyStatus{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := store.KeyStatus{Record: s.record, TooLate: s.late && !c.SendBefore.IsZero()}
	if status.Held = !s.held && s.record == nil; status.Held {
		s.held = true
	}
	return &fakeTx{store: s, held: status.Held}, status, nil
}

func (*fakeStore) InTransaction(context.Context) bool { return false }

func (s *fakeStore) begun() error {
	s.mu.Lock()
	s.begins++
	n := s.begins
	s.mu.Unlock()
	if s.onBegin == nil {
		return nil
	}
	return s.onBegin(n)
}

func (s *fakeStore) Lookup(ctx context.Context, _ store.Claim) (store.KeyStatus, error) {
	s.mu.Lock()
	s.looks++
	n := s.looks
	s.mu.Unlock()
	if s.onLook != nil {
		if err := s.onLook(ctx, n); err != nil {
			return store.KeyStatus{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.KeyStatus{Record: s.record}, nil
}

// put writes the record, or removes it.
func (s *fakeStore) put(r *store.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = r
}

func done(c store.Claim, r idempotency.Reply) *store.Record {
	r.ExpiresAt = time.Now().Add(time.Hour)
	state := store.StateDone
	if r.Omitted {
		state = store.StateOmitted
	}
	return &store.Record{State: state, Fingerprint: c.Fingerprint, Owner: c.Owner, Reply: r}
}

// Reserve, Complete, MarkUnknown and Release make it a Reserver.
func (s *fakeStore) Reserve(_ context.Context, c store.Claim, _ time.Duration, takeOver bool) (store.KeyStatus, error) {
	if err := s.begun(); err != nil {
		return store.KeyStatus{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := store.KeyStatus{Record: s.record, Held: s.record == nil || takeOver, TooLate: s.late && !c.SendBefore.IsZero()}
	if status.Held {
		s.record = &store.Record{State: store.StateCalling, Fingerprint: c.Fingerprint, Owner: c.Owner}
	}
	return status, nil
}

func (s *fakeStore) Complete(_ context.Context, c store.Claim, r idempotency.Reply) (time.Time, bool, error) {
	s.put(done(c, r))
	return s.record.ExpiresAt, true, nil
}

func (s *fakeStore) MarkUnknown(_ context.Context, c store.Claim) (bool, error) {
	s.put(&store.Record{State: store.StateUnknown, Fingerprint: c.Fingerprint, Owner: c.Owner})
	return true, nil
}

func (s *fakeStore) Release(context.Context, store.Claim) (bool, error) {
	s.put(nil)
	return true, nil
}

// fakeTx is a transaction of a fakeStore.
type fakeTx struct {
	store *fakeStore
	held  bool
}

func (t *fakeTx) Context(ctx context.Context) context.Context { return ctx }

func (t *fakeTx) Commit(_ context.Context, c store.Claim, r idempotency.Reply) (time.Time, error) {
	defer t.Rollback(context.Background())
	t.store.mu.Lock()
	t.store.commits++
	n := t.store.commits
	t.store.mu.Unlock()
	if t.store.onCommit != nil {
		if err := t.store.onCommit(n); err != nil {
			return time.Time{}, err
		}
	}
	record := done(c, r)
	t.store.put(record)
	return record.ExpiresAt, nil
}

func (t *fakeTx) Rollback(context.Context) error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.held {
		t.store.held, t.held = false, false
	}
	return nil
}

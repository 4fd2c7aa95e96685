package idempotency_test

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// shelf is a store in memory for one key. It counts what it is asked, and a test
// can hold that up or have it fail.
type shelf struct {
	mu                     sync.Mutex
	record                 *store.Record
	held                   bool
	late                   bool // the clock is past every send-before time
	begins, looks, commits int

	onBegin  func(n int) error // called for the nth, from 1, before anything is read; nil: nothing
	onLook   func(ctx context.Context, n int) error
	onCommit func(n int) error // called before the record is written
}

func (s *shelf) Begin(_ context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	if err := s.begun(); err != nil {
		return nil, store.KeyStatus{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	look := store.KeyStatus{Record: s.record, TooLate: s.late && !c.SendBefore.IsZero()}
	if look.Held = !s.held && s.record == nil; look.Held {
		s.held = true
	}
	return &shelved{shelf: s, held: look.Held}, look, nil
}

func (*shelf) InTransaction(context.Context) bool { return false }

func (s *shelf) begun() error {
	s.mu.Lock()
	s.begins++
	n := s.begins
	s.mu.Unlock()
	if s.onBegin == nil {
		return nil
	}
	return s.onBegin(n)
}

func (s *shelf) Lookup(ctx context.Context, _ store.Claim) (store.KeyStatus, error) {
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
func (s *shelf) put(r *store.Record) {
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
func (s *shelf) Reserve(_ context.Context, c store.Claim, _ time.Duration, takeOver bool) (store.KeyStatus, error) {
	if err := s.begun(); err != nil {
		return store.KeyStatus{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	look := store.KeyStatus{Record: s.record, Held: s.record == nil || takeOver, TooLate: s.late && !c.SendBefore.IsZero()}
	if look.Held {
		s.record = &store.Record{State: store.StateCalling, Fingerprint: c.Fingerprint, Owner: c.Owner}
	}
	return look, nil
}

func (s *shelf) Complete(_ context.Context, c store.Claim, r idempotency.Reply) (time.Time, bool, error) {
	s.put(done(c, r))
	return s.record.ExpiresAt, true, nil
}

func (s *shelf) MarkUnknown(_ context.Context, c store.Claim) (bool, error) {
	s.put(&store.Record{State: store.StateUnknown, Fingerprint: c.Fingerprint, Owner: c.Owner})
	return true, nil
}

func (s *shelf) Release(context.Context, store.Claim) (bool, error) {
	s.put(nil)
	return true, nil
}

// shelved is a transaction of a shelf.
type shelved struct {
	shelf *shelf
	held  bool
}

func (t *shelved) Context(ctx context.Context) context.Context { return ctx }

func (t *shelved) Commit(_ context.Context, c store.Claim, r idempotency.Reply) (time.Time, error) {
	defer t.Rollback(context.Background())
	t.shelf.mu.Lock()
	t.shelf.commits++
	n := t.shelf.commits
	t.shelf.mu.Unlock()
	if t.shelf.onCommit != nil {
		if err := t.shelf.onCommit(n); err != nil {
			return time.Time{}, err
		}
	}
	record := done(c, r)
	t.shelf.put(record)
	return record.ExpiresAt, nil
}

func (t *shelved) Rollback(context.Context) error {
	t.shelf.mu.Lock()
	defer t.shelf.mu.Unlock()
	if t.held {
		t.shelf.held, t.held = false, false
	}
	return nil
}

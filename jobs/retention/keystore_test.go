package retention_test

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// keyTable is the kit's store in memory, on a clock that wanders: what a
// database would tell a kit in a bubble of virtual time.
type keyTable struct {
	skew func() time.Duration // how far its clock is off, at this moment

	mu      sync.Mutex
	records map[idempotency.Key]store.Record
	held    map[idempotency.Key]bool
	effects map[idempotency.Key]int // committed, ever
}

var _ store.Store = (*keyTable)(nil)

func newKeyTable(skew func() time.Duration) *keyTable {
	return &keyTable{
		skew: skew, records: map[idempotency.Key]store.Record{},
		held: map[idempotency.Key]bool{}, effects: map[idempotency.Key]int{},
	}
}

func (s *keyTable) now() time.Time { return time.Now().Add(s.skew()) }

func (s *keyTable) look(c store.Claim, now time.Time) (look store.KeyStatus) {
	if r, ok := s.records[c.Key]; ok && now.Before(r.ExpiresAt) {
		look.Record = &r
	}
	look.TooLate = !c.SendBefore.IsZero() && !now.Before(c.SendBefore)
	return look
}

func (s *keyTable) Lookup(_ context.Context, c store.Claim) (store.KeyStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(c, s.now()), nil
}

func (s *keyTable) Begin(_ context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look := s.look(c, s.now())
	look.Held = !s.held[c.Key]
	t := &keyTx{s, c.Key, look.Held}
	if look.Held {
		s.held[c.Key] = true
	}
	return t, look, nil
}

func (*keyTable) InTransaction(context.Context) bool { return false }

type keyTx struct {
	*keyTable
	key  idempotency.Key
	mine bool
}

func (t *keyTx) Context(ctx context.Context) context.Context { return ctx }

func (t *keyTx) Commit(_ context.Context, c store.Claim, r idempotency.Reply) (time.Time, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	r.ExpiresAt = now.Add(c.TTL)
	t.records[c.Key] = store.Record{State: store.StateDone, Fingerprint: c.Fingerprint, Owner: c.Owner, Reply: r}
	t.effects[c.Key]++
	delete(t.held, c.Key)
	return r.ExpiresAt, nil
}

func (t *keyTx) Rollback(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mine {
		delete(t.held, t.key)
	}
	return nil
}

// purge forgets what has expired.
func (s *keyTable) purge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for k, r := range s.records {
		if !now.Before(r.ExpiresAt) {
			delete(s.records, k)
		}
	}
}

// doubled counts the keys under which more than one effect was committed.
func (s *keyTable) doubled() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, effects := range s.effects {
		if effects > 1 {
			n++
		}
	}
	return n
}

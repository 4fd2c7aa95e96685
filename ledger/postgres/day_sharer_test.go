package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// sharer is one place in the fleet: a process, and its way to the ledger.
type sharer struct {
	*postgres.Ledger
	cancel context.CancelFunc
	wake   func()        // its heartbeat is due
	beaten chan struct{} // its heartbeat came back
	mu     sync.Mutex
	dead   bool
	lose   *rand.Rand // which answers are lost
}

// byHand is an alarm that rings when the test says so. It hands out what to
// call, in the order in which it was asked: planning, then the heartbeat.
type byHand struct{ wakes chan func() }

func (a *byHand) Every(_ time.Duration, _ string, wake func()) error { a.wakes <- wake; return nil }
func (a *byHand) Stop() error                                        { return nil }

var errCut = fmt.Errorf("%w: cut", ledger.ErrUnavailable)

// cut reports whether the process is dead.
func (m *sharer) cut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// lost loses an answer now and then.
func (m *sharer) lost(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || err == nil && m.lose.IntN(300) == 0 {
		return errCut
	}
	return err
}

func (m *sharer) Heartbeat(ctx context.Context, p string) (ledger.HeartbeatReply, error) {
	defer func() {
		select {
		case m.beaten <- struct{}{}:
		default:
		}
	}()
	if m.cut() {
		return ledger.HeartbeatReply{}, errCut
	}
	got, err := m.Ledger.Heartbeat(ctx, p)
	return got, m.lost(err)
}

func (m *sharer) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if m.cut() {
		return ledger.Admitted{}, errCut
	}
	got, err := m.Ledger.Admit(ctx, a)
	return got, m.lost(err)
}

func (m *sharer) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	if m.cut() {
		return ledger.Claimed{}, errCut
	}
	got, err := m.Ledger.Claim(ctx, c)
	return got, m.lost(err)
}

func (m *sharer) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if m.cut() {
		return nil, errCut
	}
	got, err := m.Ledger.Record(ctx, o)
	return got, m.lost(err)
}

func (m *sharer) Extend(ctx context.Context, l []ledger.Lease, by time.Duration) ([]ledger.Lease, error) {
	if m.cut() {
		return nil, errCut
	}
	return m.Ledger.Extend(ctx, l, by)
}

func (m *sharer) Retire(ctx context.Context, p string) error {
	if m.cut() {
		return errCut
	}
	return m.Ledger.Retire(ctx, p)
}

// dayTarget applies each key once. Some answers are lost after the work was
// done, some work fails.
type dayTarget struct {
	now      func() time.Time
	mu       sync.Mutex
	rand     *rand.Rand
	keys     map[string]bool
	effects  []proof.Effect
	requests []proof.Request
}

func (t *dayTarget) Call(_ context.Context, c executor.Call) executor.Answer {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = append(t.requests, proof.Request{RunID: c.RunID, Text: string(c.Work.Call.Body)})
	if t.rand.IntN(100) == 0 {
		return executor.Answer{Kind: ledger.Failed, Status: 500}
	}
	if t.keys[c.RunID] {
		return executor.Answer{Kind: ledger.Replay, Status: 200}
	}
	t.keys[c.RunID] = true
	t.effects = append(t.effects, proof.Effect{RunID: c.RunID, Begun: now, At: now})
	if t.rand.IntN(100) == 0 {
		return executor.Answer{Kind: ledger.Unknown, Error: "the answer was lost"}
	}
	return executor.Answer{Kind: ledger.Fresh, Status: 200}
}

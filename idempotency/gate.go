package idempotency

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// gate lets one call for each key go to the store to claim it, while the
// others of this process wait here, in memory: a crowd of duplicates then
// holds one connection, not the pool. Once the key's outcome is known, one of the
// waiting callers looks it up for all of them. The zero gate is ready.
type gate struct {
	mu     sync.Mutex
	queues map[Key]*keyQueue
}

// keyQueue is one key's leader and the callers that wait for it. The first of these makes
// the channels: most queues need none. Nobody joins it any more when the outcome
// of the key is known, or when its leader is overdue: a leader whose work blocks for
// ever would keep the key from this process, while the store has freed it.
// Guarded by gate.mu, but for the channels.
type keyQueue struct {
	key     Key
	due     time.Time     // by when its leader leaves, unless its work blocks
	known   bool          // the key's outcome
	next    chan struct{} // holds a value when one of the waiting callers is to go next
	waiting int
	done    chan struct{} // closed: found is read by all, and changed by none
	found   *store.Record // nil: nothing is stored
}

// turn is what a call does next at the gate.
type turn int

const (
	leader   turn = iota // tries to take the key, then calls leave
	lookup               // looks the key up for all who waited, then calls share
	shared               // has the queue's found
	timedOut             // ctx or its time to wait ended; there is no queue
)

// enter waits while another call leads, and then looks. If the caller leads it
// is due to leave by due.
func (g *gate) enter(ctx context.Context, key Key, until, due time.Time) (*keyQueue, turn) {
	g.mu.Lock()
	q := g.queues[key]
	if q == nil || time.Now().After(q.due) {
		if g.queues == nil {
			g.queues = map[Key]*keyQueue{}
		}
		q = &keyQueue{key: key, due: due}
		g.queues[key] = q
		g.mu.Unlock()
		return q, leader
	}
	if q.next == nil {
		q.next, q.done = make(chan struct{}, 1), make(chan struct{})
	}
	next, done := q.next, q.done
	q.waiting++
	g.mu.Unlock()

	enough := time.NewTimer(time.Until(until))
	defer enough.Stop()
	select {
	case <-done:
		return q, shared
	case <-next:
		return q, g.takeOver(q, due)
	case <-enough.C:
	case <-ctx.Done():
	}
	g.quit(q)
	return nil, timedOut
}

func (g *gate) takeOver(q *keyQueue, due time.Time) turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	q.waiting--
	if q.known {
		return lookup
	}
	q.due = due
	return leader
}

// leave ends the caller's lead. If the key's outcome is known, one of the waiting callers
// looks it up for all of them, and later callers do not join. Otherwise one of the
// waiting callers leads next.
func (g *gate) leave(q *keyQueue, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.known = known; known {
		g.remove(q)
	}
	g.pass(q)
}

// share ends the caller's look-up and hands its result to the waiting callers. If it
// failed, the next of them looks the key up.
func (g *gate) share(q *keyQueue, found *store.Record, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		g.pass(q)
		return
	}
	q.found = found
	close(q.done)
}

// quit takes out a caller that waits no longer. A turn that was meant for it
// goes on to the next.
func (g *gate) quit(q *keyQueue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q.waiting--
	select {
	case <-q.next:
		g.pass(q)
	default:
	}
}

// pass lets one of the waiting callers go next. Without one the queue is over.
func (g *gate) pass(q *keyQueue) {
	if q.waiting > 0 {
		q.next <- struct{}{}
	} else if !q.known {
		g.remove(q)
	}
}

// remove ends a queue, unless another one has its key by now.
func (g *gate) remove(q *keyQueue) {
	if g.queues[q.key] == q {
		delete(g.queues, q.key)
	}
}

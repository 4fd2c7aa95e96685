package idempotency

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// gate lets one call for each key go to the store to claim it, while the
// others of this process wait here, in memory: a crowd of duplicates then
// holds one connection, not the pool. Once the key's fate is known one of those
// who waited looks it up for all of them. The zero gate is ready.
type gate struct {
	mu      sync.Mutex
	flights map[Key]*flight
}

// flight is one key's leader and those who wait for it, the first of whom makes
// the channels: most flights need none. Nobody joins it any more when the fate
// of the key is known, or when its leader is overdue: one whose work blocks for
// ever would keep the key from this process, while the store has freed it.
// Guarded by gate.mu, but for the channels.
type flight struct {
	key     Key
	due     time.Time     // by when its leader leaves, unless its work blocks
	known   bool          // the key's fate
	baton   chan struct{} // one token: lead, or when the fate is known look
	waiting int
	done    chan struct{} // closed: found is read by all, and changed by none
	found   *store.Record // nil: nothing is stored
}

// turn is what a call does next at the gate.
type turn int

const (
	leader   turn = iota // tries to take the key, then calls leave
	lookup               // looks the key up for all who waited, then calls share
	shared               // has the flight's found
	timedOut             // ctx or its time to wait ended; there is no flight
)

// enter waits while another call leads, and then looks. If the caller leads it
// is due to leave by due.
func (g *gate) enter(ctx context.Context, key Key, until, due time.Time) (*flight, turn) {
	g.mu.Lock()
	f := g.flights[key]
	if f == nil || time.Now().After(f.due) {
		if g.flights == nil {
			g.flights = map[Key]*flight{}
		}
		f = &flight{key: key, due: due}
		g.flights[key] = f
		g.mu.Unlock()
		return f, leader
	}
	if f.baton == nil {
		f.baton, f.done = make(chan struct{}, 1), make(chan struct{})
	}
	baton, done := f.baton, f.done
	f.waiting++
	g.mu.Unlock()

	enough := time.NewTimer(time.Until(until))
	defer enough.Stop()
	select {
	case <-done:
		return f, shared
	case <-baton:
		return f, g.takeOver(f, due)
	case <-enough.C:
	case <-ctx.Done():
	}
	g.quit(f)
	return nil, timedOut
}

func (g *gate) takeOver(f *flight, due time.Time) turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.waiting--
	if f.known {
		return lookup
	}
	f.due = due
	return leader
}

// leave ends the caller's lead. If the key's fate is known, one of the waiting callers
// looks it up for all of them, and later callers do not join. Otherwise one of the
// waiting callers leads next.
func (g *gate) leave(f *flight, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.known = known; known {
		g.remove(f)
	}
	g.pass(f)
}

// share ends the caller's look at the key of a flight. If it came to nothing
// another of those who wait looks.
func (g *gate) share(f *flight, found *store.Record, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		g.pass(f)
		return
	}
	f.found = found
	close(f.done)
}

// quit takes out a caller that waits no longer. A baton that was meant for it
// goes on to the next.
func (g *gate) quit(f *flight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.waiting--
	select {
	case <-f.baton:
		g.pass(f)
	default:
	}
}

// pass gives the baton to one of those who wait. Where nobody does the flight is over.
func (g *gate) pass(f *flight) {
	if f.waiting > 0 {
		f.baton <- struct{}{}
	} else if !f.known {
		g.remove(f)
	}
}

// remove ends a flight, unless another one has its key by now.
func (g *gate) remove(f *flight) {
	if g.flights[f.key] == f {
		delete(g.flights, f.key)
	}
}

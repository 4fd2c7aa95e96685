package idempotency

import (
	"context"
	"sync"
	"time"
)

// gate lets one call for each key go to the store to claim it, while the
// others of this process wait here, in memory: a crowd of duplicates then
// holds one connection, not the pool. The zero gate is ready.
type gate struct {
	mu      sync.Mutex
	flights map[Key]*flight
}

// flight is one key's leader and those who wait for it, the first of whom makes
// the channels: most flights need none. Guarded by gate.mu.
type flight struct {
	landed  chan struct{} // closed: the key's fate is known, go and look
	baton   chan struct{} // one token: the leader gave up, lead now
	waiting int
}

// enter returns true when the caller leads and must call leave; false when a
// leader has landed since. It fails when ctx or the time to wait ends first.
func (g *gate) enter(ctx context.Context, key Key, until time.Time) (leads bool, err error) {
	g.mu.Lock()
	f := g.flights[key]
	if f == nil {
		if g.flights == nil {
			g.flights = map[Key]*flight{}
		}
		g.flights[key] = &flight{}
		g.mu.Unlock()
		return true, nil
	}
	if f.landed == nil {
		f.landed, f.baton = make(chan struct{}), make(chan struct{}, 1)
	}
	landed, baton := f.landed, f.baton
	f.waiting++
	g.mu.Unlock()

	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case <-landed:
		return false, nil
	case <-baton:
		g.mu.Lock()
		f.waiting--
		g.mu.Unlock()
		return true, nil
	case <-ctx.Done():
		g.quit(key, f)
		return false, ctx.Err()
	}
}

// leave ends the caller's lead. If the key's fate is known all who wait are
// let go to look; else one of them leads next.
func (g *gate) leave(key Key, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.flights[key]
	if known {
		f.waiting = 0
	}
	g.pass(key, f)
}

// quit takes out a caller that waits no longer. A baton that was meant for it
// goes on to the next.
func (g *gate) quit(key Key, f *flight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.waiting--
	select {
	case <-f.baton:
		g.pass(key, f)
	default:
	}
}

func (g *gate) pass(key Key, f *flight) {
	if f.waiting > 0 {
		f.baton <- struct{}{}
		return
	}
	delete(g.flights, key)
	if f.landed != nil {
		close(f.landed)
	}
}

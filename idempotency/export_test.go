package idempotency

import (
	"context"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// What the tests of this package look at beside its API.
var (
	Canonicalize  = canonicalize
	CanonicalJSON = canonicalJSON
	Replayable    = replayable
	StoredHeader  = storedHeader

	RequestFingerprint = requestFingerprint
	PayloadFingerprint = payloadFingerprint
)

type (
	Gate   = gate
	Flight = flight
	Turn   = turn
)

func Found(f *flight) *store.Record { return f.found }

const (
	Leader   = leader
	Lookup   = lookup
	Shared   = shared
	TimedOut = timedOut
)

func (g *gate) Enter(ctx context.Context, k Key) (*flight, turn) {
	return g.enter(ctx, k, time.Now().Add(time.Hour), time.Now().Add(time.Minute))
}
func (g *gate) Leave(f *flight, known bool)                   { g.leave(f, known) }
func (g *gate) Share(f *flight, found *store.Record, ok bool) { g.share(f, found, ok) }
func (g *gate) Len() int                                      { return len(g.flights) }

// Scopes is how many default scopes are remembered.
func (k *Kit) Scopes() int { return len(k.scopes.owners) }

// Flights is how many keys are in flight.
func (k *Kit) Flights() int {
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	return len(k.gate.flights)
}

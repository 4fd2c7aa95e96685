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
	Gate     = gate
	KeyQueue = keyQueue
	Turn     = turn
)

func Found(q *keyQueue) *store.Record { return q.found }

const (
	Leader   = leader
	Lookup   = lookup
	Shared   = shared
	TimedOut = timedOut
)

func (g *gate) Enter(ctx context.Context, k Key) (*keyQueue, turn) {
	return g.enter(ctx, k, time.Now().Add(time.Hour), time.Now().Add(time.Minute))
}
func (g *gate) Leave(q *keyQueue, known bool)                   { g.leave(q, known) }
func (g *gate) Share(q *keyQueue, found *store.Record, ok bool) { g.share(q, found, ok) }
func (g *gate) Len() int                                        { return len(g.queues) }

// Scopes is how many default scopes are remembered.
func (k *Kit) Scopes() int { return len(k.scopes.owners) }

// Queues returns the number of keys in flight.
func (k *Kit) Queues() int {
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	return len(k.gate.queues)
}

package idempotency

import "context"

// What the tests of this package look at beside its API.
var (
	Canonicalize  = canonicalize
	CanonicalJSON = canonicalJSON
	RetryAfter    = retryAfter
	StoredHeader  = storedHeader
)

type Gate = gate

func (g *gate) Enter(ctx context.Context, k Key) (bool, error) { return g.enter(ctx, k) }
func (g *gate) Leave(k Key, known bool)                        { g.leave(k, known) }
func (g *gate) Len() int                                       { return len(g.flights) }

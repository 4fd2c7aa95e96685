package idempotency

import (
	"context"
	"time"
)

// What the tests of this package look at beside its API.
var (
	Canonicalize  = canonicalize
	CanonicalJSON = canonicalJSON
	RetryAfter    = retryAfter
	Replayable    = replayable
	StoredHeader  = storedHeader

	RequestFingerprint = requestFingerprint
	PayloadFingerprint = payloadFingerprint
)

type Gate = gate

func (g *gate) Enter(ctx context.Context, k Key) (bool, error) {
	return g.enter(ctx, k, time.Now().Add(time.Hour))
}
func (g *gate) Leave(k Key, known bool) { g.leave(k, known) }
func (g *gate) Len() int                { return len(g.flights) }

type Limits = limits

func (l *limits) From(ctx context.Context, d time.Duration) context.Context { return l.from(ctx, d) }
func (l *limits) Within(ctx context.Context, d time.Duration, fn func(context.Context) error) error {
	return l.within(ctx, d, fn)
}

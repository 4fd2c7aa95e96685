// Package vendorkey carries the key of an external call from the kit to the
// transport that sends it.
package vendorkey

import (
	"context"
	"fmt"
	"sync/atomic"
)

type contextKey struct{}

type carried struct {
	key      string
	requests atomic.Int64
	sent     atomic.Int64
}

// With returns a context that carries the key.
func With(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, contextKey{}, &carried{key: key})
}

// Of returns the key; "" without one.
func Of(ctx context.Context) string {
	if c, ok := ctx.Value(contextKey{}).(*carried); ok {
		return c.key
	}
	return ""
}

// Next returns the key for the next request of one call: Of for the first, and
// for the others Of with their number. "" without a key.
func Next(ctx context.Context) string {
	c, ok := ctx.Value(contextKey{}).(*carried)
	if !ok {
		return ""
	}
	if n := c.requests.Add(1); n > 1 {
		return fmt.Sprintf("%s-%d", c.key, n)
	}
	return c.key
}

// Sent returns the counter of the attempts of one call that were perhaps sent, a new one without a call.
func Sent(ctx context.Context) *atomic.Int64 {
	if c, ok := ctx.Value(contextKey{}).(*carried); ok {
		return &c.sent
	}
	return &atomic.Int64{}
}

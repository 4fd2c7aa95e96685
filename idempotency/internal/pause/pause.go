// Package pause waits, unless a context ends first.
package pause

import (
	"context"
	"time"
)

// For waits for d and returns true, or false as soon as ctx ends.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

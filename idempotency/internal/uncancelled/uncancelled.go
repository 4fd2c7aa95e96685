// Package uncancelled lets a COMMIT go on when its caller waits no longer.
package uncancelled

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// Commit runs commit, which ends a transaction and gives its connection back, and returns its
// error, or [store.ErrUnavailable] when ctx ends first. commit then goes on for at most so long.
//
// The drivers for PostgreSQL send a request to cancel when a context ends. A server that waits
// for its synchronous standby then gives up the wait and commits alone: the reply would be
// replayed, and a failover would lose it.
func Commit(ctx context.Context, most time.Duration, commit func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
		defer cancel()
		done <- commit(within)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: the COMMIT is not answered yet: %w", store.ErrUnavailable, context.Cause(ctx))
	}
}

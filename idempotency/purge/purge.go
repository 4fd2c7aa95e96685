// Package purge removes expired idempotency keys from a store, in small batches and
// at a pace that leaves capacity for the service's own statements.
package purge

import (
	"context"
	"time"
)

// Store removes expired keys in bounded batches, each a short transaction. It
// never removes a key that has not expired: a row that is in flight or unknown
// has no expiry. What is expired is what a claim would take for expired, by
// the store's clock.
type Store interface {
	// PurgeBatch removes up to p.Limit expired keys, oldest expiry first, and
	// leaves those that another transaction has locked.
	PurgeBatch(context.Context, Batch) (Removed, error)
	// CountExpired counts, per key scope, what purging would remove now, and
	// removes nothing.
	CountExpired(ctx context.Context, scope string) (map[string]int64, error)
}

// Batch selects the keys of one batch.
type Batch struct {
	Scope string // only this key scope; "" for all
	Limit int    // rows at most; at least 1
	// After is Removed.Last of the batch before; zero for the first. Keys that
	// expired before it are left, so that no batch walks through the remains
	// of the last.
	After time.Time
}

// Removed is the result of one batch.
type Removed struct {
	Scopes map[string]int64 // rows removed, per key scope
	Rows   int              // rows removed in all; fewer than the limit: done
	Last   time.Time        // the latest expiry removed; p.After when none
}

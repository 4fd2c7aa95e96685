// Package purge removes expired idempotency keys from a store, in small batches that
// leave capacity for the service's own statements.
package purge

import (
	"context"
	"time"
)

// Store is a store of idempotency keys that can be purged. It never removes a key that
// has not expired by the store's clock. A key whose call is in progress or whose outcome
// is unknown does not expire.
type Store interface {
	// PurgeBatch removes up to Batch.Limit expired keys in one short transaction, those
	// that expired first. It skips keys that another transaction has locked.
	PurgeBatch(context.Context, Batch) (BatchResult, error)
	// CountExpired returns, by key scope, how many keys have expired. It removes none.
	// An empty scope means all.
	CountExpired(ctx context.Context, scope string) (map[string]int64, error)
}

// Batch selects the keys of one batch.
type Batch struct {
	Scope string // only this key scope; "" for all
	Limit int    // maximum number of keys; at least 1
	// After is BatchResult.Last of the batch before; zero for the first batch. Keys that
	// expired before it are skipped, so that no batch reads the rows that the last one
	// has removed.
	After time.Time
}

// BatchResult is the result of one batch.
type BatchResult struct {
	Scopes map[string]int64 // number of keys removed, by key scope
	Rows   int              // number of keys removed; less than Batch.Limit: no more can be removed now
	Last   time.Time        // the latest expiry of a removed key; Batch.After if there is none
}

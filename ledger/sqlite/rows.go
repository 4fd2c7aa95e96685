package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// rows is the ledger.Rows of a file. Its transactions are tx.
type rows struct{ *Ledger }

// Write runs f in a transaction that holds the file's write lock.
func (r rows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	err := r.write(ctx, func(t *tx) error { return f(t) })
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (t *tx) Now() (time.Time, error) { return at(t.now), nil }

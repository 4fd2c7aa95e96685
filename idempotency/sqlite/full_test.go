package sqlite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// SQLite itself rolls back when the disk is full, and then commits each write of work that goes
// on by itself. The kit cannot tell which it was, so that the work is not repeated.
func TestWorkWhoseDiskWasFullIsNotRepeated(t *testing.T) {
	db := open(t, fresh(t))
	db.SetMaxOpenConns(1)
	k := kit(t, db, "")
	for key, paid := range map[string]int{"fails": 0, "goes on": 1} {
		must(t, db, `DELETE FROM effects`)
		for again := range 2 {
			duplicate, err := k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error {
				tx := sqlite.Tx(ctx)
				must(t, tx, `INSERT INTO effects VALUES ('lost')`)
				must(t, tx, `PRAGMA max_page_count = 30`)
				_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES (zeroblob(1000000))`)
				if paid == 1 {
					_, err = tx.ExecContext(ctx, `INSERT INTO effects VALUES ('paid')`)
				}
				return err
			})
			if !errors.Is(err, idempotency.ErrTxEnded) || duplicate != (again == 1) {
				t.Errorf("%s: %t, %v", key, duplicate, err)
			}
			must(t, db, `PRAGMA max_page_count = 100000`)
		}
		if got, lost := effects(t, db, "paid"), effects(t, db, "lost"); got != paid || lost != 0 {
			t.Errorf("%s: %d effects, %d lost", key, got, lost)
		}
	}
}

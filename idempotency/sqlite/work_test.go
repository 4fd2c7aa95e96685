package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

func effects(t *testing.T, db *sql.DB, name string) (n int) {
	t.Helper()
	if err := db.QueryRow(`SELECT count(*) FROM effects WHERE name = ?`, name).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A transaction that looks open to SQLite is not therefore the kit's.
func TestWorkThatEndsTheTransactionAndBeginsAnotherIsNeverRepeated(t *testing.T) {
	fails := errors.New("no luck")
	for _, ending := range []string{`COMMIT`, `ROLLBACK`, `ROLLBACK; INSERT INTO effects VALUES ('after')`} {
		for begin, err := range map[string]error{``: nil, `; BEGIN`: nil, `; BEGIN IMMEDIATE`: nil, `; SAVEPOINT mine`: nil,
			`; BEGIN; SAVEPOINT idempotent_work`: fails} {
			t.Run(ending+begin, func(t *testing.T) {
				db := open(t, fresh(t))
				k := kit(t, db, "")
				runs := 0
				for range 2 {
					_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
						runs++
						_, failed := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('before'); `+ending+begin)
						return errors.Join(failed, err)
					})
					if !errors.Is(err, idempotency.ErrTxEnded) {
						t.Error(err)
					}
				}
				if runs != 1 {
					t.Errorf("the work ran %d times", runs)
				}
				paid(t, k, "other", false)
			})
		}
	}
}

// A savepoint of the work's own, even of the kit's name, takes nothing from it.
func TestTheWorksOwnSavepoints(t *testing.T) {
	db := open(t, fresh(t))
	k := kit(t, db, "")
	_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('kept'); SAVEPOINT mine;
			INSERT INTO effects VALUES ('undone'); ROLLBACK TO mine; RELEASE mine; SAVEPOINT left_open; INSERT INTO effects VALUES ('kept')`)
		return err
	})
	if err != nil || effects(t, db, "kept") != 2 || effects(t, db, "undone") != 0 {
		t.Error(err, effects(t, db, "kept"), effects(t, db, "undone"))
	}
}

// Nor is anything done for a key whose row a trigger has kept from the table.
func TestAClaimThatStoresNoRowDoesNoWork(t *testing.T) {
	db := open(t, fresh(t))
	must(t, db, `CREATE TRIGGER ignores BEFORE INSERT ON idempotency_keys BEGIN SELECT RAISE(IGNORE); END`)
	_, err := kit(t, db, "").Do(t.Context(), "s", "k", nil, func(context.Context) error { t.Error("it was run"); return nil })
	if !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), "trigger") {
		t.Error(err)
	}
}

// SQLite leaves the transaction open whose commit it refuses; the pool must not
// get a connection with it, nor the next call its effects.
func TestACommitThatIsRefusedLeavesNothing(t *testing.T) {
	db := open(t, fresh(t))
	db.SetMaxOpenConns(1)
	must(t, db, `CREATE TABLE owed (name TEXT REFERENCES owners (name) DEFERRABLE INITIALLY DEFERRED)`)
	must(t, db, `CREATE TABLE owners (name TEXT PRIMARY KEY)`)
	must(t, db, `PRAGMA foreign_keys = ON`)
	k := kit(t, db, "")
	_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('lost'); INSERT INTO owed VALUES ('nobody')`)
		return err
	})
	if !errors.Is(err, idempotency.ErrTxAborted) {
		t.Error(err)
	}
	paid(t, k, "k", false)
	if n := effects(t, db, "lost"); n != 0 {
		t.Errorf("%d effects", n)
	}
}

// Work that began a transaction of its own after another process has done the key's: that
// one's reply stands, and the work is undone.
func TestAReplyIsNotStoredOverAnothers(t *testing.T) {
	path := fresh(t)
	db, other := open(t, path), open(t, path)
	k, theirs := kit(t, db, ""), kit(t, other, "")
	_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
		tx := sqlite.Tx(ctx)
		if _, err := tx.ExecContext(ctx, `ROLLBACK`); err != nil {
			return err
		}
		paid(t, theirs, "k", false)
		_, err := tx.ExecContext(ctx, `BEGIN IMMEDIATE; INSERT INTO effects VALUES ('mine')`)
		return err
	})
	if !errors.Is(err, idempotency.ErrTxEnded) {
		t.Error(err)
	}
	paid(t, k, "k", true)
	if mine, paid := effects(t, db, "mine"), effects(t, db, "paid"); mine != 0 || paid != 1 {
		t.Errorf("%d effects of the loser, %d of the winner", mine, paid)
	}
}

// A handler may take its time: replays do not wait for the write lock.
func TestAReplayWaitsForNoHandler(t *testing.T) {
	k := kit(t, open(t, fresh(t)), "")
	paid(t, k, "done", false)
	_, err := k.Do(t.Context(), "s", "slow", nil, func(context.Context) error {
		paid(t, k, "done", true) // by another caller, while this one has the lock
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

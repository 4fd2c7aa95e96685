package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
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

// A handler that forgets to close the rows of a query does not keep the write
// lock, not even by rows of a context without an end.
func TestRowsLeftOpenEndWithTheWork(t *testing.T) {
	const query = `SELECT name FROM effects`
	db := open(t, fresh(t))
	must(t, db, `INSERT INTO effects VALUES ('a'), ('b')`)
	k, no := kit(t, db, ""), errors.New("no")
	for _, fails := range []error{no, nil} {
		_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
			for range 2 { // two at once
				rows, err := sqlite.Tx(ctx).QueryContext(context.Background(), query) //nolint:sqlclosecheck // the case
				if err != nil {
					return err
				}
				if !rows.Next() {
					t.Error("no row", rows.Err())
				}
			}
			return errors.Join(sqlite.Tx(ctx).QueryRowContext(context.Background(), query).Err(), fails)
		})
		if !errors.Is(err, fails) {
			t.Fatalf("work that gave %v: %v", fails, err)
		}
	}
	paid(t, k, "k", true)
	paid(t, k, "other", false)
}

// Its savepoint is there, so that the work has not ended the transaction.
func TestAWriteThatIsStillOpenAbortsTheWork(t *testing.T) {
	path := fresh(t)
	db, other := open(t, path), open(t, path)
	other.SetMaxOpenConns(1)
	must(t, other, `PRAGMA busy_timeout = 60000`)
	claim := store.Claim{Key: idempotency.Key{Scope: "s", Principal: "p", Value: "k"}, Fingerprint: "f", Owner: "o", TTL: time.Hour}
	tx, look, err := sqlite.New(db, sqlite.Options{}).Begin(t.Context(), claim)
	if err != nil || !look.Held {
		t.Fatal(look, err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	q := sqlite.Tx(tx.Context(t.Context()))
	write, last := q.QueryRowContext(ctx, `INSERT INTO effects VALUES ('left'), ('open') RETURNING name`), q.QueryRowContext(ctx, `SELECT 1`)
	if err := errors.Join(write.Err(), last.Err()); err != nil {
		t.Fatal(err)
	}
	committed := make(chan error)
	go func() {
		_, err := tx.Commit(t.Context(), claim, idempotency.Reply{})
		committed <- err
	}()
	must(t, other, `INSERT INTO effects VALUES ('other')`) // waits for the rollback
	end()
	if err := <-committed; !errors.Is(err, idempotency.ErrTxAborted) {
		t.Error(err)
	}
	if n := effects(t, db, "left"); n != 0 {
		t.Errorf("%d effects", n)
	}
}

// Nor does it keep the write lock by rows that nobody scanned, or by those of a
// statement that it prepared.
func TestRowsThatNobodyKnowsOfEndWithTheWork(t *testing.T) {
	for name, left := range map[string]func(*sql.Tx) error{
		"rows before the last": func(q *sql.Tx) error {
			for range 3 {
				if err := q.QueryRowContext(context.Background(), `SELECT name FROM effects`).Err(); err != nil {
					return err
				}
			}
			return nil
		},
		"rows of prepared statements": func(q *sql.Tx) error {
			for range 2 {
				statement, err := q.PrepareContext(context.Background(), `SELECT name FROM effects WHERE name <> ?`) //nolint:sqlclosecheck // the case
				if err != nil {
					return err
				}
				if rows, err := statement.QueryContext(context.Background(), "x"); err != nil || !rows.Next() { //nolint:sqlclosecheck // the case
					return errors.Join(err, rows.Err())
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, fresh(t))
			must(t, db, `INSERT INTO effects VALUES ('a'), ('b')`)
			k, no := kit(t, db, ""), errors.New("no")
			for _, fails := range []error{no, nil} {
				if _, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
					return errors.Join(left(sqlite.Tx(ctx)), fails)
				}); !errors.Is(err, fails) {
					t.Errorf("work that gave %v: %v", fails, err)
				}
			}
			paid(t, k, "k", true)
			paid(t, k, "other", false)
		})
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

func TestATransactionHandedInIsTheCallers(t *testing.T) {
	for _, commit := range []bool{true, false} {
		db := open(t, fresh(t))
		db.SetMaxOpenConns(1) // it has the only connection
		store := sqlite.New(db, sqlite.Options{})
		k, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		must(t, tx, `INSERT INTO effects VALUES ('outer')`) // takes the lock
		for _, again := range []bool{false, true} {
			duplicate, err := k.Do(store.WithTx(t.Context(), tx), "s", "k", nil, func(ctx context.Context) error {
				_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('inner')`)
				return err
			})
			if duplicate != again || err != nil {
				t.Error(duplicate, err)
			}
		}
		want := 0
		if commit {
			want, err = 1, tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil || effects(t, db, "inner") != want {
			t.Error(err, effects(t, db, "inner"))
		}
		paid(t, k, "k", commit)
	}
}

// Or its caller, who goes on, would commit the effect without the key.
func TestAReplyThatCannotBeStoredLeavesNothingInTheCallersTransaction(t *testing.T) {
	db := open(t, fresh(t))
	must(t, db, `CREATE TRIGGER fails BEFORE INSERT ON idempotency_keys BEGIN SELECT RAISE(ABORT, 'no'); END`)
	store := sqlite.New(db, sqlite.Options{})
	k, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	write := func(ctx context.Context, name string) error {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES (?)`, name)
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	ctx := store.WithTx(t.Context(), tx)
	err = write(ctx, "outer")
	if _, err := k.Do(ctx, "s", "k", nil, func(ctx context.Context) error { return write(ctx, "inner") }); !errors.Is(err, idempotency.ErrUnavailable) {
		t.Error(err)
	}
	must(t, tx, `DROP TRIGGER fails`)
	_, inner := k.Do(ctx, "s", "k2", nil, func(ctx context.Context) error {
		_, err := k.Do(ctx, "s", "k3", nil, func(ctx context.Context) error { return errors.Join(write(ctx, "inner"), sql.ErrNoRows) })
		if !errors.Is(err, sql.ErrNoRows) {
			t.Error(err)
		}
		return write(ctx, "middle")
	})
	if err := errors.Join(err, inner, tx.Commit()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"outer": 1, "middle": 1, "inner": 0} {
		if n := effects(t, db, name); n != want {
			t.Errorf("%d of %s, want %d", n, name, want)
		}
	}
	paid(t, k, "k2", true)
	paid(t, k, "k3", false)
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

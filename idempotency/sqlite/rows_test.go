package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
)

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
	tx, status, err := sqlite.New(db, sqlite.Options{}).Begin(t.Context(), claim)
	if err != nil || !status.Held {
		t.Fatal(status, err)
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

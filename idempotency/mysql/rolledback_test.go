package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// A transaction that the server has rolled back leaves the key free if the work fails by
// that, and uses the key up if the work goes on: each later write is committed by itself.
func TestWorkWhoseTransactionTheServerHasRolledBack(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		db, other := open(t, dsn+advised), open(t, dsn)
		migrate(t, db)
		must(t, db, `CREATE TABLE accounts (id INT PRIMARY KEY, cents INT)`)
		must(t, db, `INSERT INTO accounts VALUES (1, 0), (2, 0)`)
		db.SetMaxOpenConns(2)
		for name, conflict := range map[string]conflict{"a deadlock": deadlock, "a changed row": changedRow} {
			t.Run(name, func(t *testing.T) { freeOnlyIfItFails(t, db, other, conflict) })
		}
	})
}

// With innodb_rollback_on_timeout the wait for a lock, of the work or of a claim, can end
// the whole transaction.
func TestAServerThatRollsBackOnTimeout(t *testing.T) {
	server := testdb.MariaDBServer(t, "--innodb-rollback-on-timeout")
	dsn, err := server.Create("shop")
	if err != nil {
		t.Fatal(err)
	}
	db, other := open(t, dsn+advised), open(t, dsn)
	migrate(t, db)
	must(t, db, `CREATE TABLE accounts (id INT PRIMARY KEY, cents INT)`)
	must(t, db, `INSERT INTO accounts VALUES (1, 0)`)
	freeOnlyIfItFails(t, db, other, lockedRow)

	s := mysql.New(db, mysql.Options{})
	k, theirs := kitOn(t, s), kitOn(t, mysql.New(other, mysql.Options{}))
	_, err = theirs.Do(t.Context(), "s", "held", nil, func(context.Context) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		do := func(key string) error {
			_, err := k.Do(s.WithTx(t.Context(), tx), "s", key, nil, func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) })
			return err
		}
		if err := do("first"); err != nil {
			return err
		}
		// The first effect is gone, so that its caller must not go on and commit.
		if err := do("held"); !errors.Is(err, idempotency.ErrTxAborted) {
			t.Errorf("a claim that waits too long gives %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// conflict has a statement of the work fail, and its transaction with it.
type conflict func(t *testing.T, ctx context.Context, work *sql.Tx, other *sql.DB) error

func freeOnlyIfItFails(t *testing.T, db, other *sql.DB, conflict conflict) {
	s := mysql.New(db, mysql.Options{})
	k := kitOn(t, s)
	for begins, begin := range map[string]func(*testing.T, doing) error{
		"": func(t *testing.T, do doing) error { return do(t.Context()) },
		", joined": func(t *testing.T, do doing) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			return do(s.WithTx(t.Context(), tx))
		},
		", nested": func(t *testing.T, do doing) error {
			_, err := k.Do(t.Context(), "outer", t.Name(), nil, do)
			duplicate, again := k.Do(t.Context(), "outer", t.Name(), nil, func(context.Context) error { return nil })
			if ended := errors.Is(err, idempotency.ErrTxEnded); duplicate != ended || errors.Is(again, idempotency.ErrTxEnded) != ended {
				t.Errorf("the outer work: %v, again: %t, %v", err, duplicate, again)
			}
			return err
		},
	} {
		for then, goesOn := range map[string]bool{"the work fails": false, "the work goes on": true} {
			t.Run(then+begins, func(t *testing.T) {
				var failed error
				err := begin(t, func(ctx context.Context) error {
					_, err := k.Do(ctx, "s", t.Name(), nil, func(ctx context.Context) error {
						tx := mysql.Tx(ctx)
						if err := effect(ctx, tx); err != nil {
							return err
						}
						if failed = conflict(t, ctx, tx, other); failed == nil {
							t.Fatal("no statement failed")
						}
						if goesOn {
							err := effect(ctx, tx)
							_, _ = tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT none`)
							return errors.Join(err, failed)
						}
						return failed
					})
					return err
				})
				if !errors.Is(err, failed) || errors.Is(err, idempotency.ErrTxEnded) != goesOn {
					t.Errorf("%v", err)
				}
				duplicate, err := k.Do(t.Context(), "s", t.Name(), nil, func(context.Context) error { return nil })
				if duplicate != goesOn || errors.Is(err, idempotency.ErrTxEnded) != goesOn {
					t.Errorf("again: %t, %v", duplicate, err)
				}
			})
		}
	}
}

// doing is a Do with a context, which may have a transaction.
type doing = func(context.Context) error

// deadlock has the server choose the work's transaction as the victim.
func deadlock(t *testing.T, ctx context.Context, tx *sql.Tx, other *sql.DB) error {
	theirs, err := other.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Rollback()
	add := func(q execer, id int) error {
		_, err := q.ExecContext(ctx, `UPDATE accounts SET cents = cents + 1 WHERE id = ?`, id)
		return err
	}
	// The victim is who has written less.
	for range 20 {
		if err := effect(ctx, theirs); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(add(theirs, 1), add(tx, 2)); err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() { waits <- add(theirs, 2) }()
	time.Sleep(200 * time.Millisecond)
	err = add(tx, 1)
	<-waits
	return err
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// changedRow has the work change a row that another transaction has changed since the work
// read it. MariaDB 11.6 and later refuse that by default.
func changedRow(t *testing.T, ctx context.Context, tx *sql.Tx, other *sql.DB) error {
	if _, err := tx.ExecContext(ctx, `SET SESSION innodb_snapshot_isolation = ON`); err != nil {
		t.Skip("NOT TESTED: this server knows no such conflict")
	}
	var cents int
	if err := tx.QueryRowContext(ctx, `SELECT cents FROM accounts WHERE id = 1`).Scan(&cents); err != nil {
		t.Fatal(err)
	}
	must(t, other, `UPDATE accounts SET cents = cents + 1 WHERE id = 1`)
	_, err := tx.ExecContext(ctx, `UPDATE accounts SET cents = cents + 1 WHERE id = 1`)
	return err
}

// lockedRow has the work wait for a row longer than the server lets it.
func lockedRow(t *testing.T, ctx context.Context, tx *sql.Tx, other *sql.DB) error {
	theirs, err := other.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Rollback()
	const add = `UPDATE accounts SET cents = cents + 1 WHERE id = 1`
	if _, err := theirs.ExecContext(ctx, add); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, `SET SESSION innodb_lock_wait_timeout = 1`); err != nil {
		t.Fatal(err)
	}
	_, err = tx.ExecContext(ctx, add)
	return err
}

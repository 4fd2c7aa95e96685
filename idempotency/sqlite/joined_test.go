package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

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

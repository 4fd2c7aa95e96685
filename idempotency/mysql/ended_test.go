package mysql_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// The key's row has been committed with the effect, so that nothing is repeated.
func TestWorkThatEndsTheTransactionAndBeginsAnotherIsRemembered(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		e := engine(t, fresh(t))
		k := kitOn(t, e.Store.(*mysql.Store))
		for n := range 2 {
			duplicate, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
				return errors.Join(e.Write(ctx, "paid"), e.CommitAndBegin(ctx))
			})
			if err != nil && !errors.Is(err, idempotency.ErrTxEnded) || duplicate != (n == 1) {
				t.Errorf("call %d: duplicate %t, %v", n, duplicate, err)
			}
		}
		if n := e.Written("paid"); n != 1 {
			t.Errorf("paid %d times", n)
		}
	})
}

// The connection may break after the work has committed: the caller is not
// told that its reply is stored, and the key's row does not stay as it is.
func TestWorkThatEndsTheTransactionAndLosesTheConnectionIsRemembered(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		e := engine(t, fresh(t))
		k := kitOn(t, e.Store.(*mysql.Store))
		for n := range 2 {
			duplicate, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
				err := errors.Join(e.Write(ctx, "paid"), e.End(ctx, true))
				e.Kill(ctx)
				return err
			})
			if !errors.Is(err, idempotency.ErrTxEnded) || !duplicate && n == 1 {
				t.Errorf("call %d: duplicate %t, %v", n, duplicate, err)
			}
		}
		if n := e.Written("paid"); n != 1 {
			t.Errorf("paid %d times", n)
		}
	})
}

// MySQL cannot say whether a transaction is open. What the store asks instead must not
// hide what the work did.
func TestWorkThatEndsTheTransactionAndFailsIsRememberedOnMySQL(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		db := open(t, dsn+advised)
		migrate(t, db)
		k, errNo := kitOn(t, mysql.NewForMySQL(db)), errors.New("no")
		for _, end := range []string{"COMMIT", "ROLLBACK"} {
			for n := range 2 {
				duplicate, err := k.Do(t.Context(), "s", end, nil, func(ctx context.Context) error {
					_, err := mysql.Tx(ctx).ExecContext(ctx, end)
					return errors.Join(err, errNo)
				})
				if !errors.Is(err, idempotency.ErrTxEnded) || duplicate != (n == 1) {
					t.Errorf("%s, call %d: duplicate %t, %v", end, n, duplicate, err)
				}
			}
		}
	})
}

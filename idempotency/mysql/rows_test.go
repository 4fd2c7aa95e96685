package mysql_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
)

// fiveHundred rows are more than the driver reads ahead.
var fiveHundred = `INSERT INTO effects VALUES ('before')` + strings.Repeat(`, ('before')`, 499)

// A handler that forgets to close its rows is answered, and does not keep its
// key and its connection, as it would not with an *sql.Tx.
func TestRowsLeftOpenEndWithTheWork(t *testing.T) {
	query := func(ctx context.Context, q mysql.Querier) error {
		rows, err := q.QueryContext(ctx, `SELECT name FROM effects`) //nolint:sqlclosecheck,rowserrcheck // the case
		if err == nil && !rows.Next() {
			err = errors.New("no row")
		}
		return err
	}
	for name, left := range map[string]func(context.Context, mysql.Querier) error{
		"rows":                             query,
		"rows of a context without an end": func(_ context.Context, q mysql.Querier) error { return query(context.Background(), q) },
		"a row that was not scanned": func(_ context.Context, q mysql.Querier) error {
			return q.QueryRowContext(context.Background(), `SELECT name FROM effects`).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way, fresh func(testing.TB) string) {
				db := open(t, fresh(t)+w.parameters)
				migrate(t, db)
				must(t, db, fiveHundred)
				db.SetMaxOpenConns(1)
				k, no := kitOn(t, w.store(db)), errors.New("no")
				for _, fails := range []error{no, nil} {
					if _, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
						return errors.Join(effect(ctx, mysql.Tx(ctx)), left(ctx, mysql.Tx(ctx)), fails)
					}); !errors.Is(err, fails) {
						t.Errorf("work that gave %v: %v", fails, err)
					}
				}
				if n := effects(t, db); n != 501 {
					t.Errorf("%d effects, want 1", n-500)
				}
			})
		})
	}
}

// Of a prepared statement's rows the kit does not know; they end with the
// context of the work, and the connection with them.
func TestRowsOfAPreparedStatementLeftOpenAbortTheWork(t *testing.T) {
	eachWay(t, func(t *testing.T, w way, fresh func(testing.TB) string) {
		db := open(t, fresh(t)+w.parameters)
		migrate(t, db)
		must(t, db, fiveHundred)
		k := kitOn(t, w.store(db))
		_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
			statement, err := mysql.Tx(ctx).PrepareContext(ctx, `SELECT name FROM effects`) //nolint:sqlclosecheck // the case
			if err == nil {
				_, err = statement.QueryContext(ctx) //nolint:sqlclosecheck,rowserrcheck // the case
			}
			return err
		})
		if !errors.Is(err, idempotency.ErrUnavailable) {
			t.Error(err)
		}
		if again, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error { return effect(ctx, mysql.Tx(ctx)) }); again || err != nil {
			t.Error(again, err)
		}
	})
}

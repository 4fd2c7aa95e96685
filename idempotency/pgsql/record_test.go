package pgsql_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
)

// A trigger that keeps the key's row from the table must not have the work
// committed without its key.
func TestARecordThatStoresNoRowUndoesTheWork(t *testing.T) {
	eachDriver(t, func(t *testing.T, open opener) {
		db := open(t, database(t), nil)
		must(t, db, `CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`)
		must(t, db, `CREATE TRIGGER ignores BEFORE INSERT ON accounting.idempotency_keys FOR EACH ROW EXECUTE FUNCTION nothing()`)
		k, err := idempotency.New(pgsql.New(db, options), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('lost')`)
			return err
		})
		if !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), "trigger") {
			t.Error(err)
		}
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM effects`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d effects, %v", n, err)
		}
	})
}

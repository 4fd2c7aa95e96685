package sqlite_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

func kit(t *testing.T, db *sql.DB, table string) *idempotency.Kit {
	t.Helper()
	k, err := idempotency.New(sqlite.New(db, sqlite.Options{Table: table}), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// pay does the work "paid" under the key once.
func pay(t *testing.T, k *idempotency.Kit, key string) (duplicate bool, err error) {
	return k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('paid')`)
		return err
	})
}

func paid(t *testing.T, k *idempotency.Kit, key string, again bool) {
	t.Helper()
	if duplicate, err := pay(t, k, key); duplicate != again || err != nil {
		t.Errorf("%s: duplicate %t, %v; want %t", key, duplicate, err, again)
	}
}

func migrate(t testing.TB, db *sql.DB, table string) {
	t.Helper()
	if err := sqlite.New(db, sqlite.Options{Table: table}).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, db, `CREATE TABLE IF NOT EXISTS effects (name TEXT)`)
}

package sqlite_test

import (
	"context"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

func TestATablesNameIsANameWhateverItIs(t *testing.T) {
	for _, tc := range []struct{ name, table, sql string }{
		{"a word of SQL", "order", `"order"`},
		{"a hyphen", "my-keys", `"my-keys"`},
		{"a mark and a statement", `k"; DROP TABLE effects; --`, `"k""; DROP TABLE effects; --"`},
		{"a database's name before it", "main.my-keys", `"my-keys"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := open(t, fresh(t))
			must(t, db, `ALTER TABLE idempotency_keys RENAME TO `+tc.sql)
			kit, err := idempotency.New(sqlite.New(db, sqlite.Options{Table: tc.table}), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
			if err != nil {
				t.Fatal(err)
			}
			nothing := func(context.Context) error { return nil }
			for _, again := range []bool{false, true} {
				if got, err := kit.Do(t.Context(), "scope", "key", nil, nothing); got != again || err != nil {
					t.Errorf("duplicate %t, %v; want %t", got, err, again)
				}
			}
		})
	}
}

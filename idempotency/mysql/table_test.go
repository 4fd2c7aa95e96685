package mysql_test

import (
	"context"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

func TestATablesNameIsANameWhateverItIs(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		for _, tc := range []struct{ name, table, sql string }{
			{"a word of SQL", "order", "`order`"},
			{"a hyphen", "my-keys", "`my-keys`"},
			{"the sign of a gap", "my?keys", "`my?keys`"},
			{"a mark and a statement", "k`; DROP TABLE effects; -- x", "`k``; DROP TABLE effects; -- x`"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				dsn := fresh(t)
				db := open(t, dsn+advised)
				migrate(t, db)
				must(t, db, `ALTER TABLE idempotency_keys RENAME TO `+tc.sql)
				store := mysql.New(db, mysql.Options{Table: tc.table})
				kit, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
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
	})
}

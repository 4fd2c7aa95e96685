package pgsql_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/internal/testdb"
)

// The error says what to do, before the first call is answered 503.
func TestReadySaysWhatIsMissing(t *testing.T) {
	url := testdb.Postgres(t)
	for _, tt := range []struct{ name, statement, says string }{
		{"nothing", `SELECT 1`, ""},
		{"no table", `DROP TABLE accounting.idempotency_keys`, "create it with CreateTable or the migrations"},
		{"no column", `ALTER TABLE accounting.idempotency_keys RENAME owner TO possessor`, "owner"},
		{"no privilege", `SET ROLE pg_monitor`, "grant SELECT, INSERT, UPDATE and DELETE"},
		{"no unique index", `ALTER TABLE accounting.idempotency_keys DROP CONSTRAINT idempotency_keys_pkey`, "unique"},
		{"a stricter default", `SET default_transaction_isolation = 'serializable'`, "READ COMMITTED"},
		{"a rule", `CREATE RULE nothing AS ON INSERT TO accounting.idempotency_keys DO INSTEAD NOTHING`, "drop them"},
		{"a column of one's own", `ALTER TABLE accounting.idempotency_keys ADD tenant text NOT NULL`, "tenant"},
		{"a column that the server fills", `ALTER TABLE accounting.idempotency_keys ADD id bigint GENERATED ALWAYS AS IDENTITY`, ""},
		{"no writes", `SET default_transaction_read_only = on`, "read-only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, open opener) {
				db := open(t, url, nil)
				db.SetMaxOpenConns(1)
				must(t, db, `DROP SCHEMA IF EXISTS accounting CASCADE`)
				if err := pgsql.New(db, options).CreateTable(t.Context()); err != nil {
					t.Fatal(err)
				}
				must(t, db, tt.statement)
				k, err := idempotency.New(pgsql.New(db, options), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
				if err != nil {
					t.Fatal(err)
				}
				if err := k.Ready(t.Context()); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v, want %q in it", err, tt.says)
				}
			})
		})
	}
}

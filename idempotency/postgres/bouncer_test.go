//go:build !nopgxregisterdefaulttypes

package postgres_test

import (
	"net/url"
	"testing"

	"github.com/cronce/cronce/internal/testdb"
)

// Each transaction may have another of the server's sessions, so that nothing
// can be prepared; pgx has to be told so.
func TestContractThroughPgBouncer(t *testing.T) {
	pooler, err := url.Parse(testdb.PgBouncer(t, testdb.Postgres(t)))
	if err != nil {
		t.Fatal(err)
	}
	contract(t, func(address string) string {
		u, err := url.Parse(with(address, "default_query_exec_mode", "exec"))
		if err != nil {
			t.Fatal(err)
		}
		u.Host = pooler.Host
		return u.String()
	})
}

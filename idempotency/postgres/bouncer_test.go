//go:build !nopgxregisterdefaulttypes

package postgres_test

import (
	"net/url"
	"testing"

	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/internal/testdb"
)

// Each transaction may have another of the server's sessions, so that nothing
// can be prepared; pgx has to be told so.
func TestContractThroughPgBouncer(t *testing.T) {
	pooler, err := url.Parse(testdb.PgBouncer(t, testdb.Postgres(t)))
	if err != nil {
		t.Fatal(err)
	}
	database := reused(t)
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Engine {
		u, err := url.Parse(database(t))
		if err != nil {
			t.Fatal(err)
		}
		u.Host = pooler.Host
		query := u.Query()
		query.Set("default_query_exec_mode", "exec")
		u.RawQuery = query.Encode()
		return engineOn(t, u.String(), nil)
	})
}

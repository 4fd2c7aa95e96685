//go:build !nopgxregisterdefaulttypes

// With that tag pgx cannot send parameters without asking for their types
// first, so two of its modes are not to be had.

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Behind a pooler that knows no prepared statements, or with a tracer, what is
// sent goes through pgx: the rules are the same.
func TestContractWithoutPreparedStatements(t *testing.T) {
	contract(t, func(url string) string { return with(url, "default_query_exec_mode", "exec") })
}

// In every mode a request, its replay and another request are answered, on the
// only connection.
func TestEveryQueryModeIsKeptTo(t *testing.T) {
	for mode, prepares := range map[pgx.QueryExecMode]bool{
		pgx.QueryExecModeCacheStatement: true,
		pgx.QueryExecModeCacheDescribe:  false,
		pgx.QueryExecModeDescribeExec:   false,
		pgx.QueryExecModeExec:           false,
		pgx.QueryExecModeSimpleProtocol: false,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			p := pool(t, database(t), func(c *pgxpool.Config) {
				c.MaxConns, c.ConnConfig.DefaultQueryExecMode = 1, mode
			})
			for _, key := range []string{"a", "a", "b"} {
				if w := serve(kit(t, p), key, pay); w.Code != 201 || w.Body.String() != "paid" || w.Header().Get("Idempotency-Key-Expires") == "" {
					t.Errorf("%s: %d %s %v", key, w.Code, w.Body, w.Header())
				}
			}
			if n := effects(t, p); n != 2 {
				t.Errorf("%d effects", n)
			}
			if n := kitsStatements(t, p); (n > 0) != prepares {
				t.Errorf("%d prepared statements", n)
			}
		})
	}
}

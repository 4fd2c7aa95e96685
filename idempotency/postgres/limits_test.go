package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

// A session's own statement_timeout must not keep the key of a process that has
// died for longer than MaxRun allows.
func TestAStatementEndsByTheSessionsLimitOrMaxRunWhicheverIsSooner(t *testing.T) {
	url := database(t)
	for set, want := range map[string]string{"0": "1min", "1h": "1min", "30s": "30s"} {
		p := pool(t, url, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["statement_timeout"] = set })
		var got string
		_, err := kit(t, p, func(o *idempotency.Options) { o.MaxRun = time.Minute }).Do(t.Context(), "s", set, nil, func(ctx context.Context) error {
			return postgres.Tx(ctx).QueryRow(ctx, `SHOW statement_timeout`).Scan(&got)
		})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %s", set, got, err, want)
		}
	}
}

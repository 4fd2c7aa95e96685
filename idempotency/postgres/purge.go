package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency"
)

// PurgeBatch implements [idempotency.Purger].
func (s *Store) PurgeBatch(ctx context.Context, p idempotency.Purge) (idempotency.Purged, error) {
	done := idempotency.Purged{Scopes: map[string]int64{}, Last: p.After}
	rows, err := s.pool.Query(ctx, s.sql.batch, p.Scope, p.After, p.Limit)
	if err != nil {
		return idempotency.Purged{}, unavailable("purge", err)
	}
	var scope string
	var n int64
	var last time.Time
	_, err = pgx.ForEachRow(rows, []any{&scope, &n, &last}, func() error {
		done.Scopes[scope] = n
		done.Rows += int(n)
		if last.After(done.Last) {
			done.Last = last.UTC()
		}
		return nil
	})
	if err != nil {
		return idempotency.Purged{}, unavailable("purge", err)
	}
	return done, nil
}

// CountExpired implements [idempotency.Purger].
func (s *Store) CountExpired(ctx context.Context, scope string) (map[string]int64, error) {
	rows, err := s.pool.Query(ctx, s.sql.count, scope)
	if err != nil {
		return nil, unavailable("count", err)
	}
	counts := map[string]int64{}
	var name string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		counts[name] = n
		return nil
	})
	if err != nil {
		return nil, unavailable("count", err)
	}
	return counts, nil
}

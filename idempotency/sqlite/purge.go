package sqlite

import (
	"context"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// PurgeBatch implements [idempotency.Purger]. SQLite locks the database, not
// rows, so nothing is skipped.
func (s *Store) PurgeBatch(ctx context.Context, p idempotency.Purge) (idempotency.Purged, error) {
	done := idempotency.Purged{Scopes: map[string]int64{}, Last: p.After}
	err := s.alone(ctx, func(t *tx) error {
		rows, err := t.q.QueryContext(ctx, s.sql.batch, now(), p.Scope, sqlkeys.After(p), p.Limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var scope string
			var expires int64
			if err := rows.Scan(&scope, &expires); err != nil {
				return err
			}
			done.Scopes[scope]++
			done.Rows++
			if at := sqlkeys.Time(expires); at.After(done.Last) {
				done.Last = at
			}
		}
		return rows.Err()
	})
	if err != nil {
		return idempotency.Purged{}, unavailable("purge", err)
	}
	return done, nil
}

// CountExpired implements [idempotency.Purger].
func (s *Store) CountExpired(ctx context.Context, scope string) (map[string]int64, error) {
	counts, err := sqlkeys.Counts(ctx, s.db, s.sql.count, now(), scope)
	if err != nil {
		return nil, unavailable("count", err)
	}
	return counts, nil
}

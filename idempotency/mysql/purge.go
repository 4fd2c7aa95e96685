package mysql

import (
	"context"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// purgeTime bounds one batch, as MaxRun bounds a handler.
const purgeTime = time.Minute

// PurgeBatch implements [idempotency.Purger]. The rows are locked, with those
// that somebody else has locked left out, and then removed by their keys. Of two
// that InnoDB finds in each other's way all the same, the one that it ends
// begins its batch again.
func (s *Store) PurgeBatch(ctx context.Context, p idempotency.Purge) (idempotency.Purged, error) {
	for {
		done, err := s.purge(ctx, p)
		switch {
		case err == nil:
			return done, nil
		case code(err) != deadlock || ctx.Err() != nil:
			return idempotency.Purged{}, unavailable("purge", err)
		}
	}
}

func (s *Store) purge(ctx context.Context, p idempotency.Purge) (done idempotency.Purged, err error) {
	err = s.alone(ctx, purgeTime, func(t *tx) error {
		done = idempotency.Purged{Scopes: map[string]int64{}, Last: p.After}
		keys, err := t.doomed(ctx, p, &done)
		for len(keys) > 0 && err == nil {
			n := min(len(keys), removeAtOnce)
			err = t.remove(ctx, keys[:n])
			keys = keys[n:]
		}
		return err
	})
	return done, err
}

// doomed locks the batch's rows and counts them.
func (t *tx) doomed(ctx context.Context, p idempotency.Purge, done *idempotency.Purged) (keys []idempotency.Key, err error) {
	rows, err := t.q.QueryContext(ctx, t.store.sql.doomed.with(sqlkeys.After(p), p.Scope, p.Scope, p.Limit))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var k idempotency.Key
		var expires int64
		if err := rows.Scan(&k.Scope, &k.Principal, &k.Value, &expires); err != nil {
			return nil, err
		}
		keys = append(keys, k)
		done.Scopes[k.Scope]++
		done.Rows++
		if at := sqlkeys.Time(expires); at.After(done.Last) {
			done.Last = at
		}
	}
	return keys, rows.Err()
}

// removeAtOnce is few enough for the server to look each key up: of a longer
// condition it may decide to read the whole table.
const removeAtOnce = 200

func (t *tx) remove(ctx context.Context, keys []idempotency.Key) error {
	conditions := make([]string, len(keys))
	for i, k := range keys {
		conditions[i] = t.store.sql.doomedKey.with(sqlkeys.Key(k)...)
	}
	_, err := t.q.ExecContext(ctx, t.store.sql.remove.with()+strings.Join(conditions, " OR "))
	return err
}

// CountExpired implements [idempotency.Purger].
func (s *Store) CountExpired(ctx context.Context, scope string) (map[string]int64, error) {
	counts, err := sqlkeys.Counts(ctx, s.db, s.sql.count.with(scope, scope))
	if err != nil {
		return nil, unavailable("count", err)
	}
	return counts, nil
}

package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency/internal/pgkeys"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/purge"
)

// bySettings prepares a purge's transaction.
//
//   - The commit waits for no disk. A batch that a crash of the server loses is
//     removed again by the next purge, and until then its keys count as expired
//     as before. Whatever commits later is behind the batch in the log, so a key
//     that was taken again does not meet its old row.
//   - A row that somebody holds is waited for only for lock_timeout: far below
//     deadlock_timeout, so that it is the purge that gives way.
//   - The batch walks the index on expires_at whatever the statistics say, which
//     are of the time before the purge; a plan that sorts would read all that is
//     left for every batch. Compiling it would cost more than running it.
const bySettings = `SELECT set_config('synchronous_commit', 'off', true), set_config('jit', 'off', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('lock_timeout', coalesce($1::text, current_setting('lock_timeout')), true)`

// purgeStatements are the purge's SQL.
type purgeStatements struct{ quick, slow, count sqlkeys.Statement }

func newPurgeStatements(t sqlkeys.Terms) purgeStatements {
	// The index can end at the statement's time, which {{expired}} cannot give
	// it: that clock moves while the statement runs. Without an end the last
	// batch would read every key that has not expired.
	const from = `FROM {{table}}
  WHERE {{expired}} AND expires_at <= statement_timestamp() AND expires_at >= {{at :after}}
    AND (CAST(:only AS text) = '' OR scope = :only)`
	const counted = `RETURNING scope, expires_at
)
SELECT scope, count(*), max(expires_at) FROM removed GROUP BY scope`
	// A stretch of the index that ends before the first row of the next
	// batch. Of rows that expire at the same time, as after an import, it
	// takes all or none, so it never takes more than the limit.
	quick := t.Statement(`WITH removed AS (
  DELETE ` + from + `
    AND expires_at < coalesce((SELECT expires_at ` + from + ` ORDER BY expires_at OFFSET :limit LIMIT 1), 'infinity')
  ` + counted)
	// Locking the rows first leaves out those that somebody holds, but
	// writes each of them, and the log, twice. The array of row addresses
	// makes the delete fetch its rows directly. The predicate stands again
	// because a row may have been reclaimed in between.
	slow := t.Statement(`WITH doomed AS (
  SELECT ctid ` + from + ` ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
), removed AS (
  DELETE FROM {{table}} WHERE ctid = ANY (ARRAY(SELECT ctid FROM doomed)) AND {{expired}}
  ` + counted)
	return purgeStatements{quick, slow, t.Statement(pgkeys.Count)}
}

// lockTimeout is the longest time for which a batch waits for a locked row.
const lockTimeout = 5 * time.Millisecond

// PurgeBatch implements [purge.Store]. It removes without locking first;
// where that meets a row that somebody holds, or takes fewer than it may, it
// goes on with what is free.
func (s *Store) PurgeBatch(ctx context.Context, p purge.Batch) (purge.BatchResult, error) {
	wait := strconv.FormatInt(lockTimeout.Milliseconds(), 10)
	done, err := s.remove(ctx, s.purge.quick, &wait, p)
	if code, _ := refused(err); code == "55P03" { // lock_not_available
		done, err = purge.BatchResult{}, nil
	}
	if err == nil && done.Rows < p.Limit {
		p.Limit -= done.Rows
		var rest purge.BatchResult
		rest, err = s.remove(ctx, s.purge.slow, nil, p)
		done = sum(done, rest)
	}
	if err != nil {
		return purge.BatchResult{}, unavailable("purge", err)
	}
	return done, nil
}

func sum(a, b purge.BatchResult) purge.BatchResult {
	for scope, n := range a.Scopes {
		b.Scopes[scope] += n
	}
	b.Rows += a.Rows
	if a.Last.After(b.Last) {
		b.Last = a.Last
	}
	return b
}

// remove runs one batch: settings, statement and commit in one round trip.
func (s *Store) remove(ctx context.Context, statement sqlkeys.Statement, wait *string, p purge.Batch) (purge.BatchResult, error) {
	done := purge.BatchResult{Scopes: map[string]int64{}, Last: p.After}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return done, err
	}
	defer conn.Release() // which ends a connection whose transaction is open
	var b pgx.Batch
	b.Queue(begin)
	b.Queue(bySettings, wait)
	v := sqlkeys.Batch(p)
	v["after"] = p.After
	queue(&b, statement, v).Query(func(rows pgx.Rows) error {
		var scope string
		var n int64
		var last time.Time
		_, err := pgx.ForEachRow(rows, []any{&scope, &n, &last}, func() error {
			done.Scopes[scope] = n
			done.Rows += int(n)
			if last.After(done.Last) {
				done.Last = last.UTC()
			}
			return nil
		})
		return err
	})
	b.Queue(`COMMIT`)
	if err = conn.SendBatch(ctx, &b).Close(); err != nil {
		_, _ = conn.Exec(ctx, `ROLLBACK`)
	}
	return done, err
}

// CountExpired implements [purge.Store].
func (s *Store) CountExpired(ctx context.Context, scope string) (map[string]int64, error) {
	rows, err := s.pool.Query(ctx, s.purge.count.Text(), s.purge.count.Args(sqlkeys.Values{"only": scope})...)
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

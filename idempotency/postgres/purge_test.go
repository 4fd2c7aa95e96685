package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/purge"
)

// expiring stores n keys of a scope, the i-th of which expires at the time
// that the SQL expression at gives, in which i stands for itself.
func expiring(t *testing.T, p *pgxpool.Pool, scope string, n int, at string) {
	t.Helper()
	must(t, p, fmt.Sprintf(`INSERT INTO accounting.idempotency_keys (scope, principal, key, request_hash, state, owner, created_at, expires_at)
SELECT '%s', 'p', i::text, 'h', 'done', 'o', now(), %s FROM generate_series(1, %d) i`, scope, at, n))
}

func purgeStore(t *testing.T, url string) (*postgres.Store, func()) {
	t.Helper()
	s, done, err := postgres.Open(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	return s, done
}

// removed purges to the end in batches of limit, and returns the batches' rows.
func removed(t *testing.T, s *postgres.Store, limit int) (rows []int) {
	t.Helper()
	ask := purge.Batch{Limit: limit}
	for {
		got, err := s.PurgeBatch(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, got.Rows)
		if got.Rows < limit {
			return rows
		}
		ask.After = got.Last
	}
}

// Statistics from before the keys came, or the end of what has expired, would
// otherwise make a batch read all that is left.
func TestAPurgeReadsLittleMoreThanWhatItRemoves(t *testing.T) {
	const expired, alive = 2000, 20_000
	url := database(t)
	p := pool(t, url)
	expiring(t, p, "old", 1000, `now() - interval '100 days'`)
	must(t, p, `ANALYZE accounting.idempotency_keys`)
	must(t, p, `TRUNCATE accounting.idempotency_keys`)
	expiring(t, p, "gone", expired, `now() - i * interval '1 second'`)
	expiring(t, p, "live", alive, `now() + interval '1 day' + i * interval '1 second'`)

	s, done := purgeStore(t, url)
	if rows := removed(t, s, 100); len(rows) != expired/100+1 {
		t.Errorf("batches of %v", rows)
	}
	done() // a session tells its statistics when it ends
	read := 0
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		read = count(t, p, `SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'`)
		if read >= expired {
			break
		}
		must(t, p, `SELECT pg_sleep(0.02)`)
	}
	if read < expired || read > 4*expired {
		t.Errorf("%d rows were read to remove %d", read, expired)
	}
}

func TestAPurgeTakesNoMoreThanItMayOfKeysThatExpireAtOneInstant(t *testing.T) {
	url := database(t)
	p := pool(t, url)
	expiring(t, p, "import", 25, `'2026-01-01'`)
	expiring(t, p, "later", 3, `'2026-01-02'`)
	s, done := purgeStore(t, url)
	defer done()
	if rows := removed(t, s, 10); fmt.Sprint(rows) != "[10 10 8]" {
		t.Errorf("batches of %v", rows)
	}
}

// A claim that takes an expired key again holds its row until its work is done.
func TestAPurgeLeavesARowThatSomebodyHoldsAndDoesNotWaitForIt(t *testing.T) {
	url := database(t)
	p := pool(t, url)
	expiring(t, p, "gone", 30, `now() - i * interval '1 second'`)
	held, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := held.Exec(t.Context(), `DELETE FROM accounting.idempotency_keys WHERE key = '17'`); err != nil {
		t.Fatal(err)
	}
	s, done := purgeStore(t, url)
	defer done()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sum int
	ask := purge.Batch{Limit: 10}
	for range 4 {
		got, err := s.PurgeBatch(ctx, ask)
		if err != nil {
			t.Fatal(err)
		}
		sum += got.Rows
		ask.After = got.Last
	}
	if left := count(t, p, `SELECT count(*) FROM accounting.idempotency_keys`); sum != 29 || left != 1 {
		t.Errorf("%d removed, %d left", sum, left)
	}
}

// A commit that waits for no disk is the purge's alone.
func TestAPurgeLeavesTheSessionsSettings(t *testing.T) {
	url := database(t)
	p := pool(t, url, func(c *pgxpool.Config) { c.MaxConns = 1 })
	expiring(t, p, "gone", 3, `now() - i * interval '1 second'`)
	if rows := removed(t, postgres.New(p, options), 2); fmt.Sprint(rows) != "[2 1]" {
		t.Errorf("batches of %v", rows)
	}
	var got string
	err := p.QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('synchronous_commit'), current_setting('lock_timeout'), current_setting('enable_seqscan'))`).Scan(&got)
	if err != nil || got != "on 0 on" {
		t.Error(got, err)
	}
}

package postgres_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// The table of hours grows by thousands of rows before its statistics say so. A purge, a
// count and the end of old hours find theirs by their keys.
func TestHoursAreFoundByTheirKeysWhateverTheStatisticsSay(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		ALTER TABLE cronce.hours SET (autovacuum_enabled = false);
		INSERT INTO cronce.hours (hour, job_id) VALUES (date_trunc('hour', now()), 'x');
		ANALYZE cronce.hours`)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	for round := range 3 {
		// The first round has the statements planned for a small table.
		execute(t, f.url, strings.ReplaceAll(`
			INSERT INTO cronce.hours (hour, job_id, stale, counts)
			SELECT date_trunc('hour', now(), 'UTC') - d * interval '1 day', 'job-' || lpad(j::text, 5, '0'), d = 2 AND j = 0, ''
			FROM generate_series(1, {jobs}) j, generate_series(1, 100) d UNION ALL
			SELECT date_trunc('hour', now(), 'UTC') - d * interval '1 day', 'job-00000', d = 2, '' FROM generate_series(1, 50) d
			ON CONFLICT (hour, job_id) DO UPDATE SET stale = excluded.stale, kept = false;
			UPDATE cronce.hour_span SET counted_from = now() - interval '95 days', counted_to = date_trunc('hour', now(), 'UTC') - interval '3 hours';
			INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, finished_at, revision, state, trigger)
			SELECT 'job-00000@' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'job-00000', at, at, at, 0, 'succeeded', 'schedule'
			FROM (SELECT date_trunc('hour', now(), 'UTC') - d * interval '1 day' AS at FROM generate_series(50, 50) d) x ON CONFLICT DO NOTHING`, "{jobs}", strconv.Itoa(100*min(round, 1))))
		got, err := f.PurgeRuns(t.Context(), ledger.Purge{Retention: 30 * 24 * time.Hour, DeadRetention: 30 * 24 * time.Hour, Batch: 100})
		must(t, err)
		for more := true; more; {
			more, err = f.RollUp(t.Context())
			must(t, err)
		}
		if got.Runs != 1 {
			t.Fatalf("round %d: %d runs purged, want 1", round, got.Runs)
		}
	}
	for want, query := range map[int]string{
		1: `SELECT count(*) FROM cronce.hours WHERE kept`,
		0: `SELECT count(*) FROM cronce.hours WHERE stale OR hour < now() - interval '91 days 1 hour'`,
	} {
		var got int
		must(t, connect(t, f.url).QueryRow(t.Context(), query).Scan(&got))
		if got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	flags, deletes := 0, 0
	for _, p := range seen.texts {
		if strings.Contains(p, "SET stale = false") || strings.Contains(p, "SET kept = true") {
			flags++
		}
		if strings.Contains(p, "DELETE FROM hours") {
			deletes++
		}
		if whole.MatchString(p) {
			t.Errorf("too many rows were read:\n%s", p)
		}
	}
	if flags == 0 || deletes == 0 {
		t.Errorf("%d plans that set flags, %d that delete: want both", flags, deletes)
	}
}

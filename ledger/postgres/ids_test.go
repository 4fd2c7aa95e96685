package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestTheTablesRefuseARunWhoseIDDoesNotBeginWithItsJobs: a job's runs are found
// by their ids alone.
func TestTheTablesRefuseARunWhoseIDDoesNotBeginWithItsJobs(t *testing.T) {
	c, err := pgx.Connect(t.Context(), migrated(t))
	must(t, err)
	defer c.Close(t.Context())
	for _, tt := range []struct {
		job, run string
		taken    bool
	}{
		{"a", "a@2026-11-21T03:00:00Z", true},
		{"a", "a@2026-11-21T03:00:00Z~0190", true},
		{"a_b", "a_b@2026-11-21T03:00:00Z", true},
		{"a.b-c", "a.b-c@~", true},
		{"a", "a@", true},
		{"a", "a", false},
		{"a", "A@2026-11-21T03:00:00Z", false},
		{"a", "aA", false},
		{"a", "a?", false},
		{"a", "a0@2026-11-21T03:00:00Z", false},
		{"a", "a-b@2026-11-21T03:00:00Z", false},
		{"a_b", "a-b@2026-11-21T03:00:00Z", false},
		{"a-b", "a@2026-11-21T03:00:00Z", false},
		{"b", "a@2026-11-21T03:00:00Z", false},
	} {
		_, err := c.Exec(t.Context(), `
			INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, finished_at, revision, state, trigger)
			VALUES ($1, $2, now(), now(), now(), 1, 'succeeded', 'schedule')`, tt.run, tt.job)
		if (err == nil) != tt.taken {
			t.Errorf("run %q of job %q: %v", tt.run, tt.job, err)
		}
	}
}

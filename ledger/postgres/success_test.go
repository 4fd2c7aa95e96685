package postgres_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// However many runs succeed together, and however many incidents are closed, a record
// looks once whether one is open, and writes none.
func TestASuccessLooksForOpenIncidentsOnce(t *testing.T) {
	f := newFleet(t, 200, ledger.OverlapSkip)
	execute(t, f.url, `
		INSERT INTO cronce.incidents (job_id, cause, opened_at, last_at, closed_at, count, reason, error, run_id)
		SELECT 'job-' || lpad((i % 200)::text, 5, '0'), 'dead', now(), now(), now(), 1, 'exhausted', '', '' FROM generate_series(1, 20000) i;
		ANALYZE cronce.incidents`)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	for range 8 {
		f.record(t, f.admit(t, true))
	}
	looks := onIncidents.FindAllString(strings.Join(seen.texts, "\n"), -1)
	done := func(look string) bool { return !strings.Contains(look, "never executed") }
	more := func(look string) bool { return done(look) && !noRow.MatchString(look) }
	if !slices.ContainsFunc(looks, done) || slices.ContainsFunc(looks, more) {
		t.Fatalf("a record of 200 successes looks at incidents by %q: want each once at most, and no row", looks)
	}
}

// noRow matches a step that found none. PostgreSQL 18 writes fractions of rows.
var noRow = regexp.MustCompile(`\(actual rows=0(\.00)? loops=1\)`)

// onIncidents matches what a plan does with incidents.
var onIncidents = regexp.MustCompile(`[A-Z][A-Za-z ]+(using \w+ )?on (cronce\.)?incidents\b.*`)

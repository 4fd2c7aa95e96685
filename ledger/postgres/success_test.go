package postgres_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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
		work := f.admit(t, true)
		before := len(seen.texts)
		f.record(t, work)
		looks := onIncidents.FindAllString(strings.Join(seen.texts[before:], "\n"), -1)
		done := func(look string) bool { return !strings.Contains(look, "never executed") }
		more := func(look string) bool { return done(look) && !strings.Contains(look, "(actual rows=0 loops=1)") }
		if !slices.ContainsFunc(looks, done) || slices.ContainsFunc(looks, more) {
			t.Fatalf("a record of 200 successes looks at incidents by %q: want each once at most, and no row", looks)
		}
	}
}

// onIncidents matches what a plan does with incidents.
var onIncidents = regexp.MustCompile(`[A-Z][A-Za-z ]+(using \w+ )?on (cronce\.)?incidents\b.*`)

// BenchmarkRecordSuccess is the record of successes while no incident is open, in turn
// with the same statement without the part that closes incidents; medians.
func BenchmarkRecordSuccess(b *testing.B) {
	for _, jobs := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("batch=%d", jobs), func(b *testing.B) {
			f := newFleet(b, jobs, ledger.OverlapSkip)
			var with, without []float64
			once := func(took *[]float64) {
				work := f.admit(b, true)
				begun := time.Now()
				f.record(b, work)
				*took = append(*took, float64(time.Since(begun).Nanoseconds())/1000/float64(jobs))
			}
			for b.Loop() {
				once(&with)
				restore := postgres.RecordWithoutIncidents()
				once(&without)
				restore()
			}
			slices.Sort(with)
			slices.Sort(without)
			b.ReportMetric(with[len(with)/2], "us/run")
			b.ReportMetric(without[len(without)/2], "us/run-without")
		})
	}
}

package postgres_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// A process waits for each round trip, and so does a function that runs once: the usual
// operations take two, whether or not the session knows their statements, and whether or
// not there is a pooler.
func TestTheUsualOperationsTakeTwoRoundTrips(t *testing.T) {
	for name, through := range map[string]func(testing.TB, string) string{"direct": direct, "PgBouncer": testdb.PgBouncer} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3, ledger.OverlapSkip)
			must(t, f.Close())
			relay := testdb.NewRelay(t, through(t, f.url))
			f.open(t, relay.URL, postgres.PoolSize(1))
			must(t, f.Ping(t.Context()))
			trips := func(what string, want int64, do func()) {
				t.Helper()
				before := relay.Trips()
				do()
				if got := relay.Trips() - before; got != want {
					t.Errorf("%s: %d round trips, want %d", what, got, want)
				}
			}
			for _, state := range []string{"cold", "warm"} {
				var work []ledger.Work
				trips(state+" admit", 2, func() { work = f.admit(t, true) })
				trips(state+" extend", 2, func() {
					_, err := f.Extend(t.Context(), leasesOf(work), time.Minute)
					must(t, err)
				})
				trips(state+" record", 2, func() { f.record(t, work) })
				f.admit(t, false)
				trips(state+" claim", 2, func() {
					got, err := f.Claim(t.Context(), ledger.Claim{Owner: "p", Token: f.token(), Limit: 9, LeaseFor: time.Minute})
					must(t, err)
					work = got.Work
				})
				f.record(t, work)
				stand := f.stands[0]
				p := f.plan(0, true)
				f.stands[0] = stand // the entry moves no watermark
				e := ledger.Entry{JobID: p.JobID, RunSpec: p.Runs[0], Owner: "p", Token: f.token(), LeaseFor: time.Minute}
				trips(state+" enter", 2, func() {
					got, err := f.Enter(t.Context(), e)
					must(t, err)
					work = []ledger.Work{*got.Work}
				})
				trips(state+" repeated enter", 2, func() {
					_, err := f.Enter(t.Context(), e)
					must(t, err)
				})
				f.record(t, work)
			}
		})
	}
}

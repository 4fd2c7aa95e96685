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
					got, err := f.Claim(t.Context(), ledger.ClaimRequest{Process: "p", Token: f.token(), Limit: 9, LeaseFor: time.Minute})
					must(t, err)
					work = got.Work
				})
				f.record(t, work)
				stand := f.stands[0]
				p := f.plan(0, true)
				f.stands[0] = stand // the entry moves no watermark
				e := ledger.Entry{JobID: p.JobID, RunSpec: p.Runs[0], Process: "p", Token: f.token(), LeaseFor: time.Minute}
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

// A claim that gives places asks for those of all jobs at once, while it has the jobs locked.
func TestAClaimThatGivesPlacesTakesAsManyRoundTripsForManyJobs(t *testing.T) {
	tripsOf := func(jobs int) int64 {
		f := newFleet(t, jobs, ledger.OverlapSkip)
		must(t, f.Close())
		relay := testdb.NewRelay(t, direct(t, f.url))
		f.open(t, relay.URL, postgres.PoolSize(1))
		for i := range jobs {
			var late []ledger.RunSpec
			for range 2 {
				p := f.plan(i, false)
				p.Runs[0].State, p.Runs[0].Reason = ledger.Missed, ledger.ReasonCatchUpWindow
				_, err := f.Admit(t.Context(), ledger.Admission{Plans: []ledger.Plan{p}, Process: "p", Token: f.token(), LeaseFor: time.Minute})
				must(t, err)
				late = append(late, p.Runs[0])
			}
			got, err := f.Backfill(t.Context(), ledger.BackfillRequest{
				JobID: f.stands[i].JobID, Runs: late, Pace: 1, Actor: ledger.Actor{By: "a", Why: "w"},
			})
			if err != nil || got.Planned != 2 {
				t.Fatalf("backfilled %+v: %v", got, err)
			}
		}
		claim := func() []ledger.Work {
			got, err := f.Claim(t.Context(), ledger.ClaimRequest{Process: "p", Token: f.token(), Limit: 9, LeaseFor: time.Minute})
			if err != nil || len(got.Work) != jobs {
				t.Fatalf("claimed %d, %v, want %d", len(got.Work), err, jobs)
			}
			return got.Work
		}
		f.record(t, claim())
		before := relay.Trips()
		claim()
		return relay.Trips() - before
	}
	if one, many := tripsOf(1), tripsOf(5); one != many {
		t.Errorf("%d round trips for one job, %d for five, want the same", one, many)
	}
}

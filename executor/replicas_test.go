package executor_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
	"github.com/cronce/cronce/schedule"
)

// Four processes plan the same schedules while each of them edits them: each
// content is due from its edit to the next one, whichever process made it.
func TestAnEditActsInFourReplicasAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	url := testdb.Postgres(t)
	if _, err := migrate.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	many := report
	many.CatchUp = jobs.CatchUpAll
	reg := registry(t, many, minutely("other"))
	var stores []ledger.Store
	for range 4 {
		l, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		stores = append(stores, l)
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: applying()})
		defer stop()
	}
	var mu sync.Mutex
	var changes []ledger.Schedule
	var edits sync.WaitGroup
	until := time.Now().Add(6 * time.Second)
	for n, l := range stores {
		edits.Go(func() {
			dice := rand.New(rand.NewPCG(54, uint64(n)))
			for time.Now().Before(until) {
				expr := fmt.Sprintf("*/%d * * * * *", 1+dice.IntN(3))
				got := put(t, l, reg, fmt.Sprint("k", dice.IntN(5)), expr)
				if got.Err != nil {
					t.Error(got.Err)
					return
				}
				if got.Effect != ledger.ScheduleUnchanged {
					mu.Lock()
					changes = append(changes, got.Schedule)
					mu.Unlock()
				}
				time.Sleep(time.Duration(dice.IntN(30)) * time.Millisecond)
			}
		})
	}
	edits.Wait()
	planned := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !plannedThrough(t, ctx, stores[0], planned) {
		time.Sleep(100 * time.Millisecond)
	}
	rows, err := stores[0].List(ctx, ledger.Filter{Limit: math.MaxInt32})
	if err != nil {
		t.Fatal(err)
	}
	rows = slices.DeleteFunc(rows, func(r ledger.Run) bool { return ledger.TemplateOf(r.JobID) == "" })
	revisions, held := contents(t, changes, planned)
	found, tally := proof.Check(proof.Evidence{Revisions: revisions, Rows: rows})
	var latest time.Duration
	for _, r := range rows {
		latest = max(latest, r.PlannedAt.Sub(r.ScheduledAt))
		if of := held[r.JobID]; r.Revision > int64(len(of)) || !r.ScheduledAt.After(of[r.Revision-1].From) {
			t.Errorf("%s has revision %d, which did not hold yet", r.ID, r.Revision)
		} else if e := of[r.Revision-1]; !e.Open && r.ScheduledAt.After(e.To) {
			t.Errorf("%s has revision %d, which had ended at %s", r.ID, r.Revision, e.To)
		}
	}
	for _, v := range found {
		if v.Rule == proof.Lost || v.Rule == proof.Doubled || v.Rule == proof.Stray || v.Rule == proof.Miscounted {
			t.Error(v)
		}
	}
	t.Logf("%d edits, %d scheduled times, planned at most %s after they were due", len(changes), tally.Times, latest)
	if tally.Times < 10 || len(changes) < 50 {
		t.Errorf("%d edits of schedules with %d scheduled times race for nothing", len(changes), tally.Times)
	}
}

// plannedThrough reports whether no schedule is due up to a time any more.
func plannedThrough(t *testing.T, ctx context.Context, l ledger.Store, at time.Time) bool {
	t.Helper()
	list, err := l.Schedules(ctx, ledger.ScheduleFilter{Template: "report"})
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(list, func(s ledger.Schedule) bool { return !s.NextAt.After(at) })
}

// contents are the times in which each change held, in all and by job.
func contents(t *testing.T, changes []ledger.Schedule, planned time.Time) (all []proof.Revision, by map[string][]proof.Revision) {
	t.Helper()
	slices.SortFunc(changes, func(a, b ledger.Schedule) int {
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Revision, b.Revision))
	})
	by = map[string][]proof.Revision{}
	for i, s := range changes {
		times, err := schedule.Parse(s.Expr, s.Timezone, schedule.DST(s.DST))
		if err != nil {
			t.Fatal(err)
		}
		e := proof.Revision{JobID: s.JobID, Schedule: times, From: s.Watermark, To: planned, Open: true}
		if i+1 < len(changes) && changes[i+1].JobID == s.JobID {
			e.To, e.Open = changes[i+1].Watermark, false
		}
		if s.Revision != int64(len(by[s.JobID])+1) {
			t.Fatalf("change %d of %s has revision %d", len(by[s.JobID])+1, s.JobID, s.Revision)
		}
		if s.Watermark.Before(s.ChangedAt) {
			t.Errorf("revision %d of %s began before it was made", s.Revision, s.JobID)
		}
		all, by[s.JobID] = append(all, e), append(by[s.JobID], e)
	}
	return all, by
}

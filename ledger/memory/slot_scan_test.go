package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// waitingJobs is the number of jobs that have a run in their slot and one that waits. A claim
// looks at two of them.
const waitingJobs = 9

// queued makes those runs. The jobs' IDs are a, b, and so on.
func (s *scene) queued() (held []ledger.Lease) {
	for i := range waitingJobs {
		job := string(rune('a' + i))
		s.job(ledger.JobRow{Position: ledger.Position{JobID: job}})
		id := s.run(job, 2*time.Hour, s.holds)
		held = append(held, ledger.Lease{RunID: id, Token: "t"})
		s.run(job, time.Hour, func(r *ledger.Row) { r.TakesSlot, r.Waiting = true, true })
	}
	return held
}

// holds makes a run running, for hours, in its job's slot.
func (s *scene) holds(r *ledger.Row) {
	s.leased(r)
	r.SetDueAt(s.now.Add(9 * time.Hour))
	r.TakesSlot, r.HasSlot = true, true
}

// process is another process on the scene's ledger.
func (s *scene) process() *ledger.Ledger { return ledger.New(s.Rows(), ledger.SlotScanBatch(2)) }

func (s *scene) succeed(l *ledger.Ledger, lease ledger.Lease) {
	s.Helper()
	got, err := l.Record(context.Background(), []ledger.Outcome{{Lease: lease, State: ledger.Succeeded}})
	if err != nil || got[0] != ledger.Recorded {
		s.Fatalf("%v, %v", got, err)
	}
}

// jobs claims, and returns the jobs of the runs.
func (s *scene) jobs(l *ledger.Ledger) (list []string, again bool) {
	s.Helper()
	got, err := l.Claim(context.Background(), ledger.ClaimRequest{Process: "p", Token: "t2", Limit: 100, LeaseFor: time.Hour})
	s.must(err)
	for _, w := range got.Work {
		list = append(list, w.JobID)
	}
	return list, !got.NextAt.After(got.Now) && !got.NextAt.IsZero()
}

// round claims until a claim does not ask for the next one at once, and returns how often.
func (s *scene) round(l *ledger.Ledger) (jobs []string, claims int) {
	s.Helper()
	for again := true; again; claims++ {
		if claims > waitingJobs {
			s.Fatalf("%d claims", claims)
		}
		var list []string
		list, again = s.jobs(l)
		jobs = append(jobs, list...)
	}
	return jobs, claims
}

func TestFreeSlotsOfManyJobs(t *testing.T) {
	scenes(t, map[string]func(*scene){
		"a slot that this process gives back is given by its next claim": func(s *scene) {
			held, p := s.queued(), s.process()
			s.round(p)
			for _, i := range []int{8, 4, 0} {
				s.succeed(p, held[i])
				if got, _ := s.jobs(p); !slices.Equal(got, []string{string(rune('a' + i))}) {
					s.Errorf("claimed %v after job %d", got, i)
				}
			}
		},
		"the first claims look around at once": func(s *scene) {
			held := s.queued()
			s.succeed(s.process(), held[8])
			if got, claims := s.round(s.process()); !slices.Equal(got, []string{"i"}) || claims != 5 {
				s.Errorf("%d claims got %v", claims, got)
			}
		},
		"a slot that another process gave back is found in the next round": func(s *scene) {
			held, p := s.queued(), s.process()
			s.round(p)
			s.succeed(s.process(), held[8])
			for i := range waitingJobs - 1 { // the first looks at two, the others at one
				if got, again := s.jobs(p); len(got) > 0 != (i == waitingJobs-2) || again {
					s.Errorf("claim %d got %v, another at once: %t", i, got, again)
				}
			}
		},
		"a round takes five minutes at most": func(s *scene) {
			held, p := s.queued(), s.process()
			s.round(p)
			s.succeed(s.process(), held[8])
			time.Sleep(5 * time.Minute)
			if got, claims := s.round(p); !slices.Equal(got, []string{"i"}) || claims != 5 {
				s.Errorf("%d claims got %v", claims, got)
			}
		},
		"a transaction that fails forgets nothing": func(s *scene) {
			held, broken := s.queued(), &brokenRows{Rows: s.Rows()}
			p := ledger.New(broken, ledger.SlotScanBatch(2))
			s.round(p)
			for i, name := range []string{"claim", "give free slots", "record"} {
				s.run("z", time.Duration(i)*time.Minute, func(*ledger.Row) {}) // due, so that slots are given after the claim
				broken.name, broken.committed = name, name == "record"
				_, recorded := p.Record(context.Background(), []ledger.Outcome{{Lease: held[8-i], State: ledger.Succeeded}})
				claim, claimed := p.Claim(context.Background(), ledger.ClaimRequest{Process: "p", Token: "t2", Limit: 100, LeaseFor: time.Hour})
				if (recorded == nil) == (claimed == nil) {
					s.Errorf("%s: %v, %v, want one error", name, recorded, claimed)
				}
				var got []string
				for _, w := range claim.Work {
					got = append(got, w.JobID)
				}
				if claimed != nil {
					got, _ = s.jobs(p)
				}
				if !slices.Contains(got, ledger.JobOf(held[8-i].RunID)) {
					s.Errorf("%s: claimed %v, want job %d", name, got, 8-i)
				}
			}
		},
		"a claim of one run gives its slot": func(s *scene) {
			held := s.queued()
			s.succeed(s.process(), held[8])
			got, err := s.process().Claim(context.Background(),
				ledger.ClaimRequest{Process: "p", Token: "t2", Limit: 1, LeaseFor: time.Hour, Only: []string{s.waits("i")}})
			s.must(err)
			if len(got.Work) != 1 || !got.NextAt.After(got.Now) {
				s.Errorf("claimed %+v", got)
			}
		},
		"a run that begins to wait while its slot is given back gets it": func(s *scene) {
			s.queued()
			s.job(ledger.JobRow{Position: ledger.Position{JobID: "z"}})
			s.run("z", time.Hour, s.holds)
			p := ledger.New(endingRows{s.Rows()}, ledger.SlotScanBatch(2))
			s.round(p)
			at := s.now.Add(-time.Minute).Truncate(time.Second)
			_, err := p.Enter(context.Background(), ledger.Entry{JobID: "z", RunSpec: ledger.RunSpec{
				RunID: "z@" + at.Format(time.RFC3339), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapQueue,
			}})
			s.must(err)
			if got, _ := s.jobs(p); !slices.Equal(got, []string{"z"}) {
				s.Errorf("claimed %v", got)
			}
		},
	})
}

// waits is the ID of the run that waits for a job's slot.
func (s *scene) waits(job string) string {
	return job + "@" + s.now.Add(-time.Hour).Format(time.RFC3339)
}

// brokenRows fail the next transaction of a name, before or after it is committed.
type brokenRows struct {
	ledger.Rows
	name      string
	committed bool
}

func (r *brokenRows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	if name != r.name {
		return r.Rows.Write(ctx, name, f)
	}
	r.name = ""
	if err := r.Rows.Write(ctx, name, func(tx ledger.Tx) error { return errors.Join(f(tx), r.before()) }); err != nil {
		return err
	}
	return errBroken
}

func (r *brokenRows) before() error {
	if r.committed {
		return nil
	}
	return errBroken
}

var errBroken = fmt.Errorf("broken: %w", ledger.ErrUnavailable)

// endingRows end the runs that have a slot when another begins to wait for it, as a process does
// that commits its record before that run's transaction.
type endingRows struct{ ledger.Rows }

func (r endingRows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.Rows.Write(ctx, name, func(tx ledger.Tx) error { return f(endingTx{tx}) })
}

type endingTx struct{ ledger.Tx }

func (t endingTx) Insert(rows []ledger.Row) ledger.Future[[]bool] {
	for i := range rows {
		if !rows[i].Waiting {
			continue
		}
		slots, _ := t.Slots([]string{rows[i].JobID}).Get()
		is := ledger.Row{Run: ledger.Run{ID: slots[0].Holder.ID, JobID: rows[i].JobID, State: ledger.Succeeded, FinishedAt: rows[i].ScheduledAt}}
		_, _ = t.UpdateFenced([]ledger.RowChange{{Row: &is, Set: ledger.ColState | ledger.ColDue | ledger.ColSlot | ledger.ColFinished, From: ledger.Running}}).Get()
	}
	return t.Tx.Insert(rows)
}

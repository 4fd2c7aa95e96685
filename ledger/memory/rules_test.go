package memory_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// Rules whose moment an engine on a database cannot be told: its clock is its own.

// scene is a ledger in virtual time, whose rows a test writes as they are to be found.
type scene struct {
	*testing.T
	*memory.Ledger
	now time.Time
}

func scenes(t *testing.T, cases map[string]func(*scene)) {
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { run(&scene{t, memory.New(), time.Now().UTC()}) })
		})
	}
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) write(f func(ledger.Tx) error) {
	s.Helper()
	s.must(s.Ledger.Rows().Write(context.Background(), "test", f))
}

// run is a run of a job, scheduled a while ago, as change makes it.
func (s *scene) run(jobID string, ago time.Duration, change func(*ledger.Row)) string {
	s.Helper()
	at := s.now.Add(-ago)
	r := ledger.Row{Run: ledger.Run{ID: jobID + "@" + at.Format(time.RFC3339), JobID: jobID, ScheduledAt: at, Count: 1, State: ledger.Planned, PlannedAt: at}}
	r.SetDueAt(at)
	change(&r)
	s.write(func(tx ledger.Tx) error { tx.Insert([]ledger.Row{r}); return nil })
	return r.ID
}

// leased makes a run running under the token t.
func (s *scene) leased(r *ledger.Row) {
	r.State, r.Token, r.LeasedBy, r.LeasedAt, r.StartedAt, r.Run.Attempt = ledger.Running, "t", "p", s.now, s.now, 1
	r.SetDueAt(s.now.Add(time.Minute))
}

func (s *scene) job(j ledger.JobRow) {
	s.Helper()
	s.write(func(tx ledger.Tx) error {
		return tx.PutJobs([]ledger.JobChange{{JobRow: j, Set: ledger.JobColRevision | ledger.JobColWatermark}})
	})
}

func (s *scene) claim(limit int) ledger.Claimed {
	s.Helper()
	got, err := s.Claim(context.Background(), ledger.ClaimRequest{Process: "p", Token: "t", Limit: limit, LeaseFor: time.Minute})
	s.must(err)
	return got
}

func (s *scene) declare(ids ...string) {
	s.Helper()
	s.must(s.Declare(context.Background(), ledger.Declaration{Process: "p", Registry: "r", Version: "v", Definitions: func(yield func(ledger.Definition) bool) {
		for _, id := range ids {
			if !yield(ledger.Definition{JobID: id, Hash: "v", Body: []byte(`{}`)}) {
				return
			}
		}
	}}))
}

func TestRulesAtTheirMoment(t *testing.T) {
	scenes(t, map[string]func(*scene){
		"a process is alive up to its TTL": func(s *scene) {
			s.declare("j")
			for _, alive := range []bool{true, false} {
				time.Sleep(time.Until(s.now.Add(ledger.ProcessTTL)))
				if list, err := s.Processes(context.Background()); err != nil || len(list) != 1 || list[0].Alive != alive {
					s.Errorf("%+v, %v; want alive %t", list, err, alive)
				}
				time.Sleep(time.Microsecond)
			}
		},
		"a run is sent before its send-before time, and not at it": func(s *scene) {
			s.run("early", time.Minute, func(r *ledger.Row) { r.StartedAt, r.SendBefore = r.ScheduledAt, s.now.Add(time.Microsecond) })
			dead := s.run("late", time.Minute, func(r *ledger.Row) { r.StartedAt, r.SendBefore = r.ScheduledAt, s.now })
			if got := s.claim(10); len(got.Work) != 1 || len(got.PastSendBefore) != 1 || got.PastSendBefore[0].ID != dead {
				s.Errorf("%+v", got)
			}
		},
		"a key is unsafe at the time until which it is safe": func(s *scene) {
			r := ledger.Run{KeySafeUntil: s.now}
			if r.KeyUnsafe(s.now.Add(-time.Microsecond)) || !r.KeyUnsafe(s.now) {
				s.Error("the key has another limit")
			}
		},
		"the counts of purged runs stay when their hour is counted anew": func(s *scene) {
			at := s.now.Truncate(time.Hour).Add(-48 * time.Hour)
			s.run("j", s.now.Sub(at), func(r *ledger.Row) {
				r.State, r.FinishedAt = ledger.Succeeded, r.ScheduledAt
				r.SetDueAt(time.Time{})
			})
			s.rollUp()
			_, err := s.PurgeRuns(context.Background(), ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
			s.must(err)
			s.run("j", time.Hour+s.now.Sub(at), func(*ledger.Row) {}) // the span goes back to it
			s.write(func(tx ledger.Tx) error { return tx.PutHourSpan(ledger.HourSpan{}) })
			s.rollUp()
			for _, job := range []string{"j", ""} {
				hours, err := s.Hours(context.Background(), job, at, at.Add(time.Hour))
				s.must(err)
				if len(hours) != 1 || hours[0].Counts[ledger.Succeeded] != 1 {
					s.Errorf("hours of %q: %+v, want one success", job, hours)
				}
			}
		},
	})
}

func (s *scene) rollUp() {
	s.Helper()
	for more := true; more; {
		var err error
		more, err = s.RollUp(context.Background())
		s.must(err)
	}
}

func outcome(runID string) ledger.Outcome {
	return ledger.Outcome{Lease: ledger.Lease{RunID: runID, Token: "t"}, State: ledger.Succeeded, Attempt: ledger.Attempt{RunID: runID, N: 1, Answer: ledger.AnswerFresh}}
}

// raced are rows whose transactions meet what another one did.
type raced struct{ ledger.Rows }

func (r raced) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.Rows.Write(ctx, name, func(tx ledger.Tx) error { return f(racedTx{tx}) })
}

type racedTx struct{ ledger.Tx }

// UpdateFenced finds no row as it is to be.
func (t racedTx) UpdateFenced(changes []ledger.RowChange) ledger.Future[[]bool] {
	return ledger.ResolvedFuture(make([]bool, len(changes)), nil)
}

// LockRuns finds the first run moved on.
func (t racedTx) LockRuns(ids []string) ledger.Future[[]ledger.Row] {
	rows, err := t.Tx.LockRuns(ids).Get()
	rows[0].State = ledger.Succeeded
	return ledger.ResolvedFuture(rows, err)
}

// What an action selects by a filter, and is not as it was selected when it is locked, is
// neither changed nor rejected: the filter does not select it any more.
func TestAnActionLeavesOutWhatHasChangedSinceItWasSelected(t *testing.T) {
	scenes(t, map[string]func(*scene){"": func(s *scene) {
		s.job(ledger.JobRow{Position: ledger.Position{JobID: "j", Revision: 1, Watermark: s.now}})
		dead := func(r *ledger.Row) {
			r.State, r.FinishedAt = ledger.Dead, s.now
			r.SetDueAt(time.Time{})
		}
		s.run("j", time.Hour, dead)
		left := s.run("j", time.Minute, dead)
		got, err := ledger.New(raced{s.Ledger.Rows()}).Ack(context.Background(), ledger.Action{
			Filter: ledger.Filter{JobID: "j"}, Actor: ledger.Actor{By: "ann", Why: "seen", Via: ledger.ViaAPI}})
		s.must(err)
		if len(got.Changed) != 1 || got.Changed[0].ID != left || len(got.Rejected) != 0 {
			s.Errorf("%+v, want only %s changed", got, left)
		}
	}})
}

// An outcome that was not written is not reported as recorded while the run is running.
func TestARunningRunIsNotRecorded(t *testing.T) {
	scenes(t, map[string]func(*scene){"": func(s *scene) {
		id := s.run("j", time.Hour, s.leased)
		got, err := ledger.New(raced{s.Ledger.Rows()}).Record(context.Background(), []ledger.Outcome{outcome(id)})
		s.must(err)
		if !slices.Equal(got, []ledger.RecordResult{ledger.Fenced}) {
			s.Errorf("%v, want fenced", got)
		}
	}})
}

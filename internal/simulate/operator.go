package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func (s *script) pause() {
	ctx, id := context.Background(), s.someJob().ID
	if s.IntN(2) == 0 {
		_ = s.ledger.PauseJob(ctx, id, ledger.Actor{By: "op", Why: "simulated"}) // a job that was never seen is refused
	} else {
		_ = s.ledger.ResumeJob(ctx, id, ledger.Actor{By: "op", Why: "simulated"})
	}
	s.note(func(t *Tally) { t.Pauses++ })
}

func (s *script) act(states ...ledger.State) ledger.Action {
	a := ledger.Action{Actor: ledger.Actor{By: "op", Why: "simulated"}}
	a.States = states
	if s.IntN(3) > 0 {
		a.JobID = s.someJob().ID
	}
	if s.plan.each != nil && s.IntN(2) == 0 {
		a.JobID, a.Parent = "", s.someParent()
	}
	return a
}

func (s *script) redrive() {
	a := s.act(ledger.Dead)
	a.Force = s.IntN(4) == 0 && !s.options.EventsOnly // a forced one takes no slot: it is a tick that works on it
	got, err := s.ledger.Redrive(context.Background(), a)
	s.must(err)
	s.note(func(t *Tally) { t.Redrives += len(got.Changed) })
}

func (s *script) ack() {
	_, err := s.ledger.Ack(context.Background(), s.act())
	s.must(err)
}

func (s *script) cancel() {
	a := s.act(ledger.Unfinished...)
	a.Limit = 1 + s.IntN(5)
	got, err := s.ledger.Cancel(context.Background(), a)
	s.must(err)
	s.note(func(t *Tally) { t.Cancels += len(got.Changed) })
}

// backfill asks for the scheduled times of a span, by the schedules that planned them.
func (s *script) backfill() {
	id := s.someJob().ID
	j, ok := s.Current().Job(id)
	if !ok {
		return
	}
	to := s.Now().Add(-between(s.Rand, 0, pick(s.Rand, time.Hour, 6*time.Hour)))
	from := to.Add(-between(s.Rand, 0, pick(s.Rand, time.Hour, 6*time.Hour)))
	b := ledger.BackfillRequest{JobID: id, Actor: ledger.Actor{By: "op", Why: "simulated"}, DryRun: s.IntN(8) == 0}
	b.Pace = pick[ledger.Pace](s.Dice("pace", int(from.Unix())), 0, 0, 1, 3, -2)
	for _, at := range s.options.ScheduledTimes(s.witness, j, from, to) {
		run := jobs.RunID(id, at)
		b.Runs = append(b.Runs, ledger.RunSpec{
			RunID: run, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill,
			Overlap: ledger.OverlapQueue, Call: executor.FrozenCall(j, run, at),
		})
	}
	if len(b.Runs) == 0 {
		return
	}
	got, err := s.ledger.Backfill(context.Background(), b)
	if err == nil && !b.DryRun { // a job that was never seen is refused
		s.note(func(t *Tally) { t.Backfills += got.Planned })
	}
}

func (s *script) trigger() {
	j, reg := s.someJob(), s.Current()
	if _, ok := reg.Job(j.ID); !ok {
		return
	}
	at := s.Now().Truncate(time.Second)
	id := jobs.RunIDWithToken(j.ID, at, fmt.Sprint("t", s.IntN(1e9)))
	entry := ledger.Entry{JobID: j.ID, Actor: ledger.Actor{By: "op", Why: "simulated"}, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByOperator,
		Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, at), Lease: s.IntN(2) == 0,
	}}
	limit := between(s.Rand, time.Second, time.Minute)
	if j.Each != (jobs.Each{}) {
		entry.Lease = false
		_, err := s.ledger.Enter(context.Background(), entry)
		s.must(err)
		return
	}
	s.tasks.Go(func() { _, _ = s.drive(reg, "trigger", limit, entry) }) // what it leaves, others finish
	s.note(func(t *Tally) { t.Triggers++ })
}

// purge removes old runs, and the keys that have expired.
func (s *script) purge() {
	for _, name := range []string{"books", "members"} {
		s.target(name).purge()
	}
	got, err := s.ledger.PurgeRuns(context.Background(), ledger.Purge{
		Retention: 20 * time.Minute, DeadRetention: time.Hour, Batch: 1 + s.IntN(200),
	})
	s.must(err)
	s.note(func(t *Tally) { t.Purges += got.Runs })
}

package contenders

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/robfig/cron/v3"

	"github.com/cronce/cronce/bench/rig"
)

// Gocron and Robfig keep an entry for each job and call from its function, 32
// calls at once. Neither stores anything, so they show what the alarm alone can
// do: cronce's figures beside theirs contain a durable ledger.
var (
	Gocron = rig.Contender{Name: "gocron, a job each", Run: runGocron}
	Robfig = rig.Contender{Name: "robfig/cron, an entry each", Run: runRobfig}
)

// alarm is what an entry of a scheduler does when it goes off.
type alarm struct {
	ctx    context.Context
	task   *rig.Task
	target *poster
	at     time.Time
	late   []time.Duration
	calls  atomic.Int64
}

func newAlarm(ctx context.Context, t *rig.Task) *alarm {
	return &alarm{ctx: ctx, task: t, target: newPoster(t.Target), at: DueTime(t.Runs), late: make([]time.Duration, t.Runs)}
}

func (a *alarm) ring(i int) {
	a.late[i] = time.Since(a.at)
	if _, err := a.target.post(a.ctx, fmt.Sprintf("job-%06d", i), a.at); err != nil {
		return // the round fails: the target counts
	}
	if a.calls.Add(1) == int64(len(a.late)) {
		a.task.Done(rig.Lateness(a.late))
	}
}

func runGocron(ctx context.Context, t *rig.Task) error {
	a := newAlarm(ctx, t)
	s, err := gocron.NewScheduler()
	if err != nil {
		return err
	}
	for i := range t.Runs {
		once := gocron.OneTimeJob(gocron.OneTimeJobStartDateTime(a.at))
		if _, err := s.NewJob(once, gocron.NewTask(func() { a.ring(i) })); err != nil {
			return err
		}
	}
	s.Start()
	t.Begin(a.at)
	<-ctx.Done()
	return s.Shutdown()
}

// once is due at one time only.
type once time.Time

func (o once) Next(t time.Time) time.Time {
	if t.Before(time.Time(o)) {
		return time.Time(o)
	}
	return time.Time{}
}

func runRobfig(ctx context.Context, t *rig.Task) error {
	a := newAlarm(ctx, t)
	c := cron.New(cron.WithLocation(time.UTC))
	for i := range t.Runs {
		c.Schedule(once(a.at), cron.FuncJob(func() { a.ring(i) }))
	}
	c.Start()
	t.Begin(a.at)
	<-ctx.Done()
	<-c.Stop().Done()
	return nil
}

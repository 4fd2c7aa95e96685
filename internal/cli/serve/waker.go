package serve

import (
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"

	"github.com/cronce/cronce/executor"
)

// waker wakes the executor by gocron: one metronome job for planning, one for
// the heartbeat. gocron does not say for which scheduled time it wakes, and need not:
// what is due comes from the schedules.
type waker struct {
	s     gocron.Scheduler
	clock steadyClock
}

var _ executor.Waker = (*waker)(nil)

// newWaker returns a waker on a machine whose clocks now reads.
func newWaker(now func() time.Time) (*waker, error) {
	clock := steadyClock{clockwork.NewRealClock(), now, now()}
	s, err := gocron.NewScheduler(gocron.WithLocation(time.UTC), gocron.WithClock(clock))
	if err != nil {
		return nil, err
	}
	s.Start()
	return &waker{s, clock}, nil
}

// steadyClock starts at the wall clock's time and then follows the monotonic clock. gocron
// reads the wall clock alone, so it would stop for as long as that clock is set back.
type steadyClock struct {
	clockwork.Clock
	now   func() time.Time
	start time.Time
}

func (c steadyClock) Now() time.Time { return c.start.Add(c.now().Sub(c.start)) }

// Every starts at the next whole multiple of d, so that a beat of a second
// falls on the second.
func (w *waker) Every(d time.Duration, name string, wake func()) error {
	first := w.clock.Now().Truncate(d).Add(d)
	_, err := w.s.NewJob(gocron.DurationJob(d), gocron.NewTask(wake), gocron.WithName(name),
		gocron.WithSingletonMode(gocron.LimitModeReschedule),
		gocron.WithStartAt(gocron.WithStartDateTimePast(first)))
	return err
}

func (w *waker) Stop() error { return w.s.Shutdown() }

package main

import (
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/cronce/cronce/executor"
)

// alarm wakes the executor by gocron: one metronome job for planning, one for
// the heartbeat. gocron does not say for which scheduled time it wakes, and need not:
// what is due comes from the schedules.
type alarm struct{ s gocron.Scheduler }

var _ executor.Alarm = (*alarm)(nil)

func newAlarm() (*alarm, error) {
	s, err := gocron.NewScheduler(gocron.WithLocation(time.UTC))
	if err != nil {
		return nil, err
	}
	s.Start()
	return &alarm{s}, nil
}

// Every starts at the next whole multiple of d, so that a beat of a second
// falls on the second.
func (a *alarm) Every(d time.Duration, name string, wake func()) error {
	first := time.Now().Truncate(d).Add(d)
	_, err := a.s.NewJob(gocron.DurationJob(d), gocron.NewTask(wake), gocron.WithName(name),
		gocron.WithSingletonMode(gocron.LimitModeReschedule),
		gocron.WithStartAt(gocron.WithStartDateTimePast(first)))
	return err
}

func (a *alarm) Stop() error { return a.s.Shutdown() }

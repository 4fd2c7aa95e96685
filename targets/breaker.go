package targets

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

const (
	// defaultFailures in a row open a target's breaker. It is more than one run's
	// retries, so that a single failing run seldom opens it.
	defaultFailures = 10
	// defaultOpenFor is how long a breaker then stays open.
	defaultOpenFor = 5 * time.Second
	// probeWait is how long other calls wait while the half-open breaker tests the
	// target by one call.
	probeWait = time.Second
	// outageReminder is how often the log repeats that a target still fails.
	outageReminder = 10 * time.Minute
)

var (
	errTarget        = errors.New("the target is failing")
	errHealthUnknown = errors.New("the attempt says nothing about the target")
)

// breaker keeps a target that fails from using up the attempts of every run:
// closed -> (failures in a row) open -> (after a while) half-open -> one call
// decides: closed, or open again.
type breaker struct {
	cb    *gobreaker.CircuitBreaker[executor.Answer]
	until atomic.Pointer[time.Time] // when the open state ends; nil: it never began
	log   *slog.Logger

	// Of the outage; gobreaker's lock guards them.
	since, logged time.Time
}

func newBreaker(target string, failures int, openFor time.Duration, log *slog.Logger) *breaker {
	b := &breaker{log: log.With("target", target)}
	b.cb = gobreaker.NewCircuitBreaker[executor.Answer](gobreaker.Settings{
		Name:        target,
		MaxRequests: 1,
		Timeout:     openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errHealthUnknown) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				until := time.Now().Add(openFor)
				b.until.Store(&until)
			}
			b.logChange(from, to)
		},
	})
	return b
}

// logChange writes a line when an outage begins, now and then while it lasts, and when
// it ends, however often the target is tried out meanwhile.
func (b *breaker) logChange(from, to gobreaker.State) {
	now := time.Now()
	switch {
	case from == gobreaker.StateClosed:
		b.since, b.logged = now, now
		b.log.Warn("circuit breaker opened; runs wait without using attempts")
	case to == gobreaker.StateClosed:
		b.log.Info("circuit breaker closed", "open", now.Sub(b.since).Round(time.Millisecond).String())
	case to == gobreaker.StateOpen && now.Sub(b.logged) >= outageReminder:
		b.logged = now
		b.log.Warn("circuit breaker still open", "open", now.Sub(b.since).Round(time.Second).String())
	}
}

// do makes the attempt if the breaker lets it through; otherwise the answer is
// Unsent, to be tried when the breaker may let it through.
func (b *breaker) do(ctx context.Context, attempt func() executor.Answer) executor.Answer {
	a, err := b.cb.Execute(func() (executor.Answer, error) {
		a := attempt()
		a.Outage = !a.Unsent && b.cb.State() != gobreaker.StateClosed
		return a, healthError(ctx, a)
	})
	switch {
	case errors.Is(err, gobreaker.ErrOpenState):
		return outage("the breaker is open: the target's last calls all failed", b.left())
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return outage("the breaker is half-open: another call is trying the target out", probeWait)
	}
	return a
}

// left returns the time until the breaker lets a call through. The millisecond is
// for gobreaker, which is still open exactly at its timeout.
func (b *breaker) left() time.Duration {
	until := b.until.Load()
	if until == nil {
		return time.Millisecond
	}
	return max(time.Until(*until), 0) + time.Millisecond
}

func (b *breaker) state() string { return b.cb.State().String() }

// healthError decides what an answer means for the target's health: no connection, no
// answer and a 5xx are failures; any other answer, even one that fails the run, comes
// from a working target. A call that its caller stopped means nothing.
func healthError(ctx context.Context, a executor.Answer) error {
	switch {
	case a.Unsent, a.Status == 0 && a.Kind == ledger.AnswerRefused:
		return errHealthUnknown
	case a.Status == 0 && errors.Is(ctx.Err(), context.Canceled):
		return errHealthUnknown
	case a.Status == 0, a.Status < 200, a.Status >= 500:
		return errTarget
	}
	return nil
}

// outage returns the answer when the breaker does not let a call through.
func outage(why string, wait time.Duration) executor.Answer {
	a := unsent(ledger.WaitBreakerOpen, why, wait)
	a.Outage = true
	return a
}

// unsent returns the answer when nothing was sent and the run must wait.
func unsent(code ledger.WaitCode, why string, wait time.Duration) executor.Answer {
	return executor.Answer{
		Unsent: true, Error: "not sent: " + why, RetryAfter: wait,
		WaitReason: ledger.WaitReason{Code: code, Text: why},
	}
}

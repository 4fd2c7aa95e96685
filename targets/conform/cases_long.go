package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

const noLongWork skip = "the service says that it has no long work (long: false)"

func newLongCall() call {
	c := newCall()
	c.path = "/conform/long"
	return c
}

// finished repeats a call of long work until it is no longer answered 202.
func (s *suite) finished(ctx context.Context, c call) (a answer, err error) {
	err = s.eventually(ctx, func() error {
		var err error
		a, err = s.settle(ctx, c)
		if err == nil && a.status == http.StatusAccepted {
			err = errors.New("still answered 202")
		}
		return err
	})
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("the work ended with %s, want 201", a)
	}
	return a, err
}

func longWork(ctx context.Context, s *suite) error {
	if !s.service.Long {
		return noLongWork
	}
	c := newLongCall()
	c.fault = "hold=300"
	first, err := s.do(ctx, c)
	if err != nil {
		return err
	}
	if first.status != http.StatusAccepted {
		return fmt.Errorf("the first call: %s, want 202", first)
	}
	if seconds, err := strconv.Atoi(first.header.Get("Retry-After")); err != nil || seconds < 0 {
		return fmt.Errorf("the 202 has the Retry-After %q; want a number of seconds", first.header.Get("Retry-After"))
	}
	other := newLongCall()
	other.keys = c.keys
	if _, err := s.refused(ctx, other, codeMismatch, http.StatusConflict, http.StatusUnprocessableEntity); err != nil {
		return fmt.Errorf("another payload while the work goes on: %w", err)
	}
	done, err := s.finished(ctx, c)
	if err != nil {
		return err
	}
	if err := s.again(ctx, c, done); err != nil {
		return err
	}
	return s.wantEffects(ctx, c.operation, 1)
}

func longStorm(ctx context.Context, s *suite) error {
	if !s.service.Long {
		return noLongWork
	}
	c := newLongCall()
	c.fault = "hold=200"
	answers, errs := make([]answer, s.callers), make([]error, s.callers)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() { answers[i], errs[i] = s.settle(ctx, c) })
	}
	calls.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	for _, a := range answers {
		if a.status != http.StatusAccepted && a.status != http.StatusCreated {
			return fmt.Errorf("of %d calls at once one: %s, want 202 or 201", s.callers, a)
		}
	}
	if _, err := s.finished(ctx, c); err != nil {
		return err
	}
	return s.wantEffects(ctx, c.operation, 1)
}

func longCrash(ctx context.Context, s *suite) error {
	switch {
	case !s.service.Long:
		return noLongWork
	case !s.service.Crash:
		return skip("the service says that nothing starts it again (crash: false)")
	}
	c := newLongCall()
	c.fault = "crash"
	instance := s.next()
	if a, err := s.doAt(ctx, instance, c); err == nil && a.status != http.StatusAccepted && a.status < 500 {
		return fmt.Errorf("the process was to die in the middle of the work: %s", a)
	}
	c.fault = ""
	if _, err := s.finished(ctx, c); err != nil {
		return fmt.Errorf("after the crash: %w", err)
	}
	if _, err := s.waitReady(ctx, instance); err != nil {
		return fmt.Errorf("the service did not come back: %w", err)
	}
	return s.wantEffects(ctx, c.operation, 1)
}

package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

func oneEffect(ctx context.Context, s *suite) error {
	c := newCall()
	if _, err := s.fresh(ctx, c); err != nil {
		return err
	}
	for range 3 {
		if err := s.done(ctx, c); err != nil {
			return fmt.Errorf("the repetition: %w", err)
		}
	}
	return s.wantEffects(ctx, c.operation, 1)
}

func replayBytes(ctx context.Context, s *suite) error {
	c := newCall()
	first, err := s.fresh(ctx, c)
	for range 3 {
		if err == nil {
			err = s.again(ctx, c, first)
		}
	}
	return err
}

func replayMarked(ctx context.Context, s *suite) error {
	c := newCall()
	if _, err := s.fresh(ctx, c); err != nil {
		return err
	}
	a, err := s.settle(ctx, c)
	if err == nil && !a.replayed() {
		err = errors.New("the repetition has no Idempotent-Replayed: true")
	}
	return err
}

func replayHeaders(ctx context.Context, s *suite) error {
	c := newCall()
	first, err := s.fresh(ctx, c)
	if err != nil {
		return err
	}
	a, err := s.settle(ctx, c)
	if err != nil {
		return err
	}
	for _, name := range []string{"Content-Type", "Location"} {
		if got, want := a.header.Get(name), first.header.Get(name); got != want || want == "" {
			return fmt.Errorf("%s is %q in the repetition and %q in the first answer", name, got, want)
		}
	}
	if first.header.Get("Set-Cookie") == "" {
		return errors.New("the first answer has no Set-Cookie, which the protocol wants")
	}
	if a.header.Get("Set-Cookie") != "" {
		return errors.New("the repetition has a Set-Cookie: another client may get the first one's session")
	}
	return nil
}

// storm sends all calls at once, to all instances. A hold makes sure that some of them
// meet while the first one works.
func storm(ctx context.Context, s *suite) error {
	c := newCall()
	c.fault = "hold=200"
	answers, errs := make([]answer, s.callers), make([]error, s.callers)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() { answers[i], errs[i] = s.do(ctx, c) })
	}
	calls.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	stored, err := s.settle(ctx, c)
	if err != nil {
		return err
	}
	worked := 0
	for _, a := range answers {
		if a.later() {
			continue
		}
		if err := same(stored, a); err != nil {
			return fmt.Errorf("of %d calls at once: %w", s.callers, err)
		}
		if !a.replayed() {
			worked++
		}
	}
	if worked != 1 {
		return fmt.Errorf("%d of %d calls at once are answered as new work, want 1", worked, s.callers)
	}
	return s.wantEffects(ctx, c.operation, 1)
}

// inFlight tests two calls at once, of which either may do the work. It is tried again with
// longer work if no call is asked to come back: the service may wait longer than the work takes, and
// on a busy machine the second call may arrive when the work of the first has ended.
func inFlight(ctx context.Context, s *suite) error {
	for n := range time.Duration(holds) {
		waited, err := s.twoAtOnce(ctx, (n+1)*s.hold)
		if err != nil || !waited {
			return err
		}
	}
	return fmt.Errorf("a call waited for the end of work that took %s; want 409 %s before that", holds*s.hold, codeInProgress)
}

// holds is how often the case in-flight is tried, and how many times Config.Hold its
// longest work takes.
const holds = 3

// twoAtOnce reports whether both calls got the answer of the work.
func (s *suite) twoAtOnce(ctx context.Context, hold time.Duration) (waited bool, err error) {
	c := newCall()
	c.fault = "hold=" + strconv.FormatInt(hold.Milliseconds(), 10)
	var answers [2]answer
	var errs [2]error
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() { answers[i], errs[i] = s.do(ctx, c) })
	}
	calls.Wait()
	if err := cmp.Or(errs[:]...); err != nil {
		return false, err
	}
	done := 0
	for _, a := range answers {
		switch {
		case a.status == http.StatusCreated:
			done++
		case !a.later():
			return false, fmt.Errorf("%s, want 409 %s", a, codeInProgress)
		default:
			if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 0 {
				return false, fmt.Errorf("the %d has the Retry-After %q; want a number of seconds", a.status, a.header.Get("Retry-After"))
			}
		}
	}
	if done == 0 {
		return false, errors.New("neither of two calls at once got the answer of the work")
	}
	return done == 2, s.wantEffects(ctx, c.operation, 1)
}

func lostAnswer(ctx context.Context, s *suite) error {
	for range 5 {
		c := newCall()
		c.fault = "hold=100"
		hung, hangUp := context.WithTimeout(ctx, 50*time.Millisecond)
		_, err := s.do(hung, c)
		hangUp()
		if err == nil {
			return errors.New("the service answered before the end of the hold")
		}
		c.fault = ""
		if err := s.done(ctx, c); err != nil {
			return fmt.Errorf("the call after a lost answer: %w", err)
		}
		if err := s.wantEffects(ctx, c.operation, 1); err != nil {
			return err
		}
	}
	return nil
}

// cutRequest announces a longer body than it sends.
func cutRequest(ctx context.Context, s *suite) error {
	c := newCall()
	r, err := s.request(ctx, s.next(), c, strings.NewReader(c.payload()+" "))
	if err != nil {
		return err
	}
	cut, hangUp := context.WithCancel(ctx)
	r = r.WithContext(cut)
	r.Body = &cutBody{Reader: strings.NewReader(c.payload()), cut: hangUp}
	if a, err := s.send(r); err == nil && a.status < 400 {
		return fmt.Errorf("a request whose body ended early: %s", a)
	}
	// The service may notice the end of the connection later than this side does.
	select {
	case <-time.After(noticed):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.wantEffects(ctx, c.operation, 0); err != nil {
		return err
	}
	if _, err := s.fresh(ctx, c); err != nil {
		return fmt.Errorf("the whole request: %w", err)
	}
	return s.wantEffects(ctx, c.operation, 1)
}

// noticed is how long a service may take to see that a connection has ended.
const noticed = 500 * time.Millisecond

// cutBody ends the connection in the place of the last byte.
type cutBody struct {
	*strings.Reader
	cut func()
}

func (b *cutBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.cut()
		err = errors.New("cut")
	}
	return n, err
}

func (b *cutBody) Close() error { return nil }

func crash(ctx context.Context, s *suite) error {
	if !s.service.Crash {
		return skip("the service says that nothing starts it again (crash: false)")
	}
	for instance := range s.urls {
		c := newCall()
		c.fault = "crash"
		if a, err := s.doAt(ctx, instance, c); err == nil && a.status < 500 {
			return fmt.Errorf("the process was to die before it answered: %s", a)
		}
		if _, err := s.waitReady(ctx, instance); err != nil {
			return fmt.Errorf("the service did not come back: %w", err)
		}
		if err := s.wantEffects(ctx, c.operation, 0); err != nil {
			return fmt.Errorf("after the crash: %w", err)
		}
		c.fault = ""
		first, err := s.fresh(ctx, c)
		if err != nil {
			return fmt.Errorf("after the crash: %w", err)
		}
		if err := s.again(ctx, c, first); err != nil {
			return err
		}
		if err := s.wantEffects(ctx, c.operation, 1); err != nil {
			return err
		}
	}
	return nil
}

// released tests that work which the operation ends with a status is not stored: a
// repetition is tried again, and the key is free for any payload.
func released(status int) runner {
	return func(ctx context.Context, s *suite) error {
		c := newCall()
		c.status = status
		for range 2 {
			a, err := s.do(ctx, c)
			if err != nil {
				return err
			}
			if a.status != status || a.replayed() {
				return fmt.Errorf("%s, want the operation's %d, not replayed", a, status)
			}
		}
		if err := s.wantEffects(ctx, c.operation, 0); err != nil {
			return err
		}
		c.status = 0
		if _, err := s.fresh(ctx, c); err != nil {
			return err
		}
		return s.wantEffects(ctx, c.operation, 1)
	}
}

func finalRefusal(ctx context.Context, s *suite) error {
	c := newCall()
	c.status = http.StatusUnprocessableEntity
	first, err := s.fresh(ctx, c)
	if err != nil {
		return err
	}
	a, err := s.settle(ctx, c)
	if err == nil {
		err = same(a, first)
	}
	if err == nil && !a.replayed() {
		err = errors.New("the repetition has no Idempotent-Replayed: true")
	}
	if err != nil {
		return err
	}
	return s.wantEffects(ctx, c.operation, 0)
}

package conform

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func oneEffect(s *script) {
	c := newCall()
	s.fresh(c)
	s.now("the repetition")
	for range 3 {
		s.done(c)
	}
	s.now("")
	s.effects(c, 1)
}

func replayBytes(s *script) {
	c := newCall()
	first := s.fresh(c)
	for range 3 {
		s.again(c, first)
	}
}

func replayMarked(s *script) {
	c := newCall()
	s.fresh(c)
	s.replayed(s.settled(c))
}

func replayHeaders(s *script) {
	c := newCall()
	first := s.fresh(c)
	a := s.settled(c)
	for _, name := range []string{"Content-Type", "Location"} {
		if got, want := a.header.Get(name), first.header.Get(name); got != want || want == "" {
			s.failf("%s is %q in the repetition and %q in the first answer", name, got, want)
		}
	}
	if first.header.Get("Set-Cookie") == "" {
		s.failf("the first answer has no Set-Cookie, which the protocol wants")
	}
	if a.header.Get("Set-Cookie") != "" {
		s.failf("the repetition has a Set-Cookie: another client may get the first one's session")
	}
}

// storm sends all calls at once, to all instances. A hold makes sure that some of them
// meet while the first one works.
func storm(s *script) {
	c := newCall()
	c.fault = "hold=200"
	answers := s.atOnce(s.callers, func() (answer, error) { return s.do(s.ctx, c) })
	stored := s.settled(c)
	worked := 0
	for _, a := range answers {
		if a.later() {
			continue
		}
		if err := same(stored, a); err != nil {
			s.failf("of %d calls at once: %w", s.callers, err)
		}
		if !a.replayed() {
			worked++
		}
	}
	if worked != 1 {
		s.failf("%d of %d calls at once are answered as new work, want 1", worked, s.callers)
	}
	s.effects(c, 1)
}

// inFlight tests two calls at once, of which either may do the work. It is tried again with
// longer work if no call is asked to come back: the service may wait longer than the work takes,
// and on a busy machine the second call may arrive when the work of the first has ended.
func inFlight(s *script) {
	for n := range time.Duration(holds) {
		if waited := s.twoAtOnce((n + 1) * s.hold); s.err != nil || !waited {
			return
		}
	}
	s.failf("a call waited for the end of work that took %s; want 409 %s before that", holds*s.hold, codeInProgress)
}

// holds is how often the case in-flight is tried, and how many times Config.Hold its
// longest work takes.
const holds = 3

// twoAtOnce reports whether both calls got the answer of the work.
func (s *script) twoAtOnce(hold time.Duration) (waited bool) {
	c := newCall()
	c.fault = "hold=" + strconv.FormatInt(hold.Milliseconds(), 10)
	done := 0
	for _, a := range s.atOnce(2, func() (answer, error) { return s.do(s.ctx, c) }) {
		switch {
		case a.status == http.StatusCreated:
			done++
		case !a.later():
			s.failf("%s, want 409 %s", a, codeInProgress)
		default:
			s.comeBack(a)
		}
	}
	if done == 0 {
		s.failf("neither of two calls at once got the answer of the work")
	}
	s.effects(c, 1)
	return done == 2
}

func lostAnswer(s *script) {
	s.now("the call after a lost answer")
	const hold = 100 * time.Millisecond
	for range 5 {
		c := newCall()
		c.fault = "hold=" + strconv.FormatInt(hold.Milliseconds(), 10)
		hung, hangUp := context.WithTimeout(s.ctx, hold/2)
		begun := time.Now()
		_, err := s.do(hung, c)
		hangUp()
		// A busy machine may hang up too late.
		if err == nil && time.Since(begun) < hold {
			s.failf("the service answered the first before the end of the hold")
		}
		c.fault = ""
		s.done(c)
		s.effects(c, 1)
	}
}

// cutRequest announces a longer body than it sends.
func cutRequest(s *script) {
	c := newCall()
	r, err := s.request(s.ctx, s.next(), c, strings.NewReader(c.payload()+" "))
	if s.must(err); err != nil {
		return
	}
	cut, hangUp := context.WithCancel(s.ctx)
	defer hangUp()
	r = r.WithContext(cut)
	r.Body = &cutBody{Reader: strings.NewReader(c.payload()), cut: hangUp}
	if a, err := s.send(r); err == nil && a.status < 400 {
		s.failf("a request whose body ended early: %s", a)
	}
	s.wait(noticed) // the service may notice the end of the connection later than this side does
	s.effects(c, 0)
	s.now("the whole request")
	s.fresh(c)
	s.effects(c, 1)
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

// crashing returns a case of a service that is started again.
func crashing(run runner) runner {
	return func(s *script) {
		if !s.service.Crash {
			s.must(skip("the service says that nothing starts it again (crash: false)"))
			return
		}
		run(s)
	}
}

func crash(s *script) {
	for instance := range s.urls {
		if s.err != nil {
			return
		}
		c := newCall()
		c.fault = "crash"
		if a, err := s.doAt(s.ctx, instance, c); err == nil && a.status < 500 {
			s.failf("the process was to die before it answered: %s", a)
		}
		s.back(instance)
		s.now("after the crash")
		s.effects(c, 0)
		c.fault = ""
		s.again(c, s.fresh(c))
		s.effects(c, 1)
	}
}

// back waits until an instance serves again.
func (s *script) back(instance int) {
	if s.err != nil {
		return
	}
	if _, err := s.waitReady(s.ctx, instance); err != nil {
		s.failf("the service did not come back: %w", err)
	}
}

// released tests that work which the operation ends with a status is not stored: a
// repetition is tried again, and the key is free for any payload.
func released(status int) runner {
	return func(s *script) {
		c := newCall()
		c.status = status
		for range 2 {
			if a := s.call(c); a.status != status || a.replayed() {
				s.failf("%s, want the operation's %d, not replayed", a, status)
			}
		}
		s.effects(c, 0)
		c.status = 0
		s.fresh(c)
		s.effects(c, 1)
	}
}

func finalRefusal(s *script) {
	c := newCall()
	c.status = http.StatusUnprocessableEntity
	first := s.fresh(c)
	a := s.settled(c)
	s.must(same(a, first))
	s.replayed(a)
	s.effects(c, 0)
}

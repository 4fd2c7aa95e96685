package conform

import (
	"errors"
	"net/http"
)

// long returns a case of a service that has long work.
func long(run runner) runner {
	return func(s *script) {
		if !s.service.Long {
			s.must(skip("the service says that it has no long work (long: false)"))
			return
		}
		run(s)
	}
}

func newLongCall() call {
	c := newCall()
	c.path = "/conform/long"
	return c
}

// finished repeats a call of long work until it is no longer answered 202.
func (s *script) finished(c call) answer {
	return s.asked(func() (a answer, err error) {
		err = s.eventually(s.ctx, func() error {
			var err error
			a, err = s.settle(s.ctx, c)
			if err == nil && a.status == http.StatusAccepted {
				err = errors.New("still answered 202")
			}
			return err
		})
		if err == nil && a.status != http.StatusCreated {
			s.failf("the work ended with %s, want 201", a)
		}
		return a, err
	})
}

func longWork(s *script) {
	c := newLongCall()
	c.fault = "hold=300"
	first := s.call(c)
	if first.status != http.StatusAccepted {
		s.failf("the first call: %s, want 202", first)
	}
	s.comeBack(first)
	other := newLongCall()
	other.keys = c.keys
	s.now("another payload while the work goes on")
	s.refused(other, codeMismatch, http.StatusConflict, http.StatusUnprocessableEntity)
	s.now("after another payload")
	s.again(c, s.finished(c))
	s.effects(c, 1)
}

func longStorm(s *script) {
	c := newLongCall()
	c.fault = "hold=200"
	for _, a := range s.atOnce(s.callers, func() (answer, error) { return s.settle(s.ctx, c) }) {
		if a.status != http.StatusAccepted && a.status != http.StatusCreated {
			s.failf("of %d calls at once one: %s, want 202 or 201", s.callers, a)
		}
	}
	s.finished(c)
	s.effects(c, 1)
}

func longCrash(s *script) {
	c := newLongCall()
	c.fault = "crash"
	instance := s.next()
	if a, err := s.doAt(s.ctx, instance, c); err == nil && a.status != http.StatusAccepted && a.status < 500 {
		s.failf("the process was to die in the middle of the work: %s", a)
	}
	c.fault = ""
	s.now("after the crash")
	s.finished(c)
	s.back(instance)
	s.effects(c, 1)
}

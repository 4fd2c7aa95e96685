package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Problem codes of the wire contract (docs/any-language.md).
const (
	codeMissingKey  = "missing_idempotency_key"
	codeInvalidKey  = "invalid_idempotency_key"
	codeNoPrincipal = "unidentified_caller"
	codeMismatch    = "idempotency_key_payload_mismatch"
	codeInProgress  = "idempotency_key_in_progress"
	codeTooLate     = "run_too_late"
)

// maxKeyLength is the length of the longest key, in bytes.
const maxKeyLength = 128

// script runs the steps of one case. After the first step that fails, the others do
// nothing, and return zero answers.
type script struct {
	*suite
	ctx   context.Context //nolint:containedctx // that of Run
	about string          // what the steps test now; begins their errors
	err   error
}

// now says what the next steps test; "": what the case does.
func (s *script) now(about string) {
	if s.about = about; about != "" {
		s.about += ": "
	}
}

func (s *script) failf(format string, args ...any) { s.must(fmt.Errorf(format, args...)) }

// must fails the case if there is an error.
func (s *script) must(err error) {
	var skipped skip
	switch {
	case s.err != nil || err == nil:
	case errors.As(err, &skipped):
		s.err = err
	default:
		s.err = fmt.Errorf("%s%w", s.about, err)
	}
}

// asked returns the answer of f, unless a step has failed.
func (s *script) asked(f func() (answer, error)) answer {
	if s.err != nil {
		return answer{}
	}
	a, err := f()
	s.must(err)
	return a
}

// call makes a call once.
func (s *script) call(c call) answer {
	return s.asked(func() (answer, error) { return s.do(s.ctx, c) })
}

// settled repeats a call until it is neither lost nor asked to come back.
func (s *script) settled(c call) answer {
	return s.asked(func() (answer, error) { return s.settle(s.ctx, c) })
}

// fresh makes a call that must be new work.
func (s *script) fresh(c call) answer {
	a := s.settled(c)
	want := c.status
	if want == 0 {
		want = http.StatusCreated
	}
	switch {
	case s.err != nil:
	case a.status != want:
		s.failf("a call with a new key: %s, want %d", a, want)
	case a.replayed():
		s.failf("a call with a new key is answered as a replay")
	case s.earliest.answer.status == 0 && c.path == "":
		s.earliest = made{c, a, time.Now()}
	}
	return a
}

// again makes a call that must be answered as the first one was.
func (s *script) again(c call, first answer) {
	a := s.asked(func() (answer, error) {
		a, err := s.settle(s.ctx, c)
		if err != nil {
			err = fmt.Errorf("the repetition: %w", err)
		}
		return a, err
	})
	s.must(same(a, first))
}

func same(a, first answer) error {
	if a.status != first.status || !bytes.Equal(a.body, first.body) {
		return fmt.Errorf("the repetition: %s with the body %.120q; the first answer: %s with %.120q", a, a.body, first, first.body)
	}
	return nil
}

// replayed fails unless the answer of a repetition says that it is one.
func (s *script) replayed(a answer) {
	if !a.replayed() {
		s.failf("the repetition has no Idempotent-Replayed: true")
	}
}

// refused makes a call that must be refused with a status and a code.
func (s *script) refused(c call, code string, statuses ...int) {
	a := s.call(c)
	s.must(refusal(a, code, statuses...))
}

func refusal(a answer, code string, statuses ...int) error {
	switch {
	case !slices.Contains(statuses, a.status):
		return fmt.Errorf("%s, want %d %s", a, statuses[0], code)
	case a.code() != code:
		return fmt.Errorf("status %d without the problem code %s (application/problem+json)", a.status, code)
	}
	return nil
}

// done makes a call whose work must be done, now or before.
func (s *script) done(c call) {
	if a := s.settled(c); a.status != http.StatusCreated {
		s.failf("%s, want 201", a)
	}
}

// effects fails unless a call's operation has so many effects.
func (s *script) effects(c call, want int) {
	if s.err != nil {
		return
	}
	got, err := s.counted(s.ctx, c.operation)
	s.must(err)
	if got != want {
		s.failf("the operation has %d effects, want %d", got, want)
	}
}

// atOnce makes so many calls at the same time; none after a failure.
func (s *script) atOnce(n int, call func() (answer, error)) []answer {
	if s.err != nil {
		return nil
	}
	answers, errs := make([]answer, n), make([]error, n)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() { answers[i], errs[i] = call() })
	}
	calls.Wait()
	for _, err := range errs {
		s.must(err)
	}
	return answers
}

// comeBack fails unless an answer says when to ask again.
func (s *script) comeBack(a answer) {
	text := a.header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err != nil || seconds < 0 {
		s.failf("the %d has the Retry-After %q; want a number of seconds", a.status, text)
	}
}

// wait returns early if the case is canceled.
func (s *script) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
		s.must(s.ctx.Err())
	}
}

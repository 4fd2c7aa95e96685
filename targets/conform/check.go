package conform

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
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

// fresh makes a call that must be new work.
func (s *suite) fresh(ctx context.Context, c call) (answer, error) {
	a, err := s.settle(ctx, c)
	want := c.status
	if want == 0 {
		want = http.StatusCreated
	}
	switch {
	case err != nil:
		return a, err
	case a.status != want:
		return a, fmt.Errorf("a call with a new key: %s, want %d", a, want)
	case a.replayed():
		return a, fmt.Errorf("a call with a new key is answered as a replay")
	}
	if s.earliest.answer.status == 0 && c.path == "" {
		s.earliest = made{c, a, time.Now()}
	}
	return a, nil
}

// again makes a call that must be answered as the first one was.
func (s *suite) again(ctx context.Context, c call, first answer) error {
	a, err := s.settle(ctx, c)
	if err != nil {
		return fmt.Errorf("the repetition: %w", err)
	}
	return same(a, first)
}

func same(a, first answer) error {
	if a.status != first.status || !bytes.Equal(a.body, first.body) {
		return fmt.Errorf("the repetition: %s with the body %.120q; the first answer: %s with %.120q", a, a.body, first, first.body)
	}
	return nil
}

// refused makes a call that must be refused with a status and a code.
func (s *suite) refused(ctx context.Context, c call, code string, statuses ...int) (answer, error) {
	a, err := s.do(ctx, c)
	switch {
	case err != nil:
		return a, err
	case !slices.Contains(statuses, a.status):
		return a, fmt.Errorf("%s, want %d %s", a, statuses[0], code)
	case a.code() != code:
		return a, fmt.Errorf("status %d without the problem code %s (application/problem+json)", a.status, code)
	}
	return a, nil
}

// done makes a call whose work must be done, now or before.
func (s *suite) done(ctx context.Context, c call) error {
	a, err := s.settle(ctx, c)
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("%s, want 201", a)
	}
	return err
}

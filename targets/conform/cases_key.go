package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// mismatched tests that a service which knows a key by one call refuses the other call
// under the same key. If the service does not serve the other method or media
// type, the case cannot be tested.
func mismatched(one, other variant) runner {
	return func(ctx context.Context, s *suite) error {
		base := newCall()
		known, changed := base.as(one), base.as(other)
		first, err := s.fresh(ctx, known)
		if err != nil {
			return err
		}
		a, err := s.refused(ctx, changed, codeMismatch, http.StatusConflict, http.StatusUnprocessableEntity)
		switch {
		case other.unserved(a.status):
			return skip(fmt.Sprintf("the service answers status %d: it does not serve %s", a.status, cmp.Or(other.method, other.mediaType)))
		case err != nil:
			return fmt.Errorf("the changed call: %w", err)
		}
		if changed.operation != known.operation {
			if err := s.wantEffects(ctx, changed.operation, 0); err != nil {
				return fmt.Errorf("of the changed call: %w", err)
			}
		}
		if err := s.again(ctx, known, first); err != nil {
			return err
		}
		return s.wantEffects(ctx, known.operation, 1)
	}
}

// unserved reports whether a status says that the service takes no calls with the method
// or the media type, whatever their key.
func (v variant) unserved(status int) bool {
	return v.method != "" && (status == http.StatusMethodNotAllowed || status == http.StatusNotFound) ||
		v.mediaType != "" && status == http.StatusUnsupportedMediaType
}

// separate tests that the keys of two calls never meet: both calls are new work.
func separate(one, other variant) runner {
	return func(ctx context.Context, s *suite) error {
		base := newCall()
		first, err := s.fresh(ctx, base.as(one))
		if err != nil {
			return err
		}
		if _, err := s.fresh(ctx, base.as(other)); err != nil {
			return fmt.Errorf("the other call: %w", err)
		}
		if err := s.wantEffects(ctx, base.operation, 2); err != nil {
			return err
		}
		return s.again(ctx, base.as(one), first)
	}
}

func jsonMeaning(ctx context.Context, s *suite) error {
	c := newCall()
	first, err := s.fresh(ctx, c)
	if err != nil {
		return err
	}
	c.body = fmt.Sprintf("{ \"operation\" : %q,\n\t\"answer\" : 2.01e2 }", c.operation)
	if err := s.again(ctx, c, first); err != nil {
		return err
	}
	c.mediaType = "application/json; charset=UTF-8"
	if err := s.again(ctx, c, first); err != nil {
		return fmt.Errorf("with Content-Type %s: %w", c.mediaType, err)
	}
	return nil
}

func sendBefore(value ...string) http.Header {
	return http.Header{"Cronce-Send-Before": value}
}

func lateCall(ctx context.Context, s *suite) error {
	c := newCall()
	c.header = sendBefore(time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339))
	if _, err := s.refused(ctx, c, codeTooLate, http.StatusPreconditionFailed); err != nil {
		return err
	}
	if err := s.wantEffects(ctx, c.operation, 0); err != nil {
		return err
	}
	c.header = sendBefore(time.Now().Add(24 * time.Hour).In(time.FixedZone("", 5400)).Format(time.RFC3339Nano))
	if _, err := s.fresh(ctx, c); err != nil {
		return fmt.Errorf("in time: %w", err)
	}
	return s.wantEffects(ctx, c.operation, 1)
}

func lateReplay(ctx context.Context, s *suite) error {
	c := newCall()
	first, err := s.fresh(ctx, c)
	if err != nil {
		return err
	}
	c.header = sendBefore(time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339))
	return s.again(ctx, c, first)
}

func sendBeforeSyntax(ctx context.Context, s *suite) error {
	later := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	for _, header := range []http.Header{sendBefore("tomorrow"), sendBefore("2026-02-30T00:00:00Z"), sendBefore(later, later)} {
		c := newCall()
		c.header = header
		a, err := s.do(ctx, c)
		if err != nil {
			return err
		}
		if a.status != http.StatusBadRequest {
			return fmt.Errorf("Cronce-Send-Before %q: %s, want 400", header.Values("Cronce-Send-Before"), a)
		}
		if err := s.wantEffects(ctx, c.operation, 0); err != nil {
			return err
		}
	}
	return nil
}

func unidentified(ctx context.Context, s *suite) error {
	c := newCall()
	c.principal = "-"
	if _, err := s.refused(ctx, c, codeNoPrincipal, http.StatusUnauthorized); err != nil {
		return err
	}
	return s.wantEffects(ctx, c.operation, 0)
}

func missingKey(ctx context.Context, s *suite) error {
	c := newCall()
	c.keys = nil
	if _, err := s.refused(ctx, c, codeMissingKey, http.StatusBadRequest); err != nil {
		return err
	}
	return s.wantEffects(ctx, c.operation, 0)
}

func invalidKey(ctx context.Context, s *suite) error {
	for _, keys := range [][]string{{""}, {"a b"}, {`"a`}, {`"a"b`}, {strings.Repeat("k", maxKeyLength+1)}, {"\xc3\xa4"}, {"a", "b"}, {"a", "a"}} {
		c := newCall()
		c.keys = keys
		a, err := s.do(ctx, c)
		if err != nil {
			return err
		}
		// A server may treat an empty header as a missing one.
		if a.status != http.StatusBadRequest || a.code() != codeInvalidKey && a.code() != codeMissingKey {
			return fmt.Errorf("Idempotency-Key %q: %s, want 400 %s", keys, a, codeInvalidKey)
		}
		if err := s.wantEffects(ctx, c.operation, 0); err != nil {
			return err
		}
	}
	return nil
}

func quotedKey(ctx context.Context, s *suite) error {
	c := newCall()
	first, err := s.fresh(ctx, c)
	if err != nil {
		return err
	}
	c.keys = []string{`"` + c.keys[0] + `"`}
	if err := s.again(ctx, c, first); err != nil {
		return err
	}
	return s.wantEffects(ctx, c.operation, 1)
}

func expires(a answer) (time.Time, error) {
	text := a.header.Get("Idempotency-Key-Expires")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("Idempotency-Key-Expires is %q; want an RFC 3339 time", text)
	}
	return at, nil
}

func expiryTold(ctx context.Context, s *suite) error {
	c := newCall()
	first, err := s.fresh(ctx, c)
	if err != nil {
		return err
	}
	a, err := s.settle(ctx, c)
	if err != nil {
		return err
	}
	told, err := expires(first)
	if err != nil {
		return err
	}
	again, err := expires(a)
	if err == nil && !told.Equal(again) {
		err = fmt.Errorf("the first answer tells %s, and the repetition %s", told, again)
	}
	return err
}

// leastAge is how old a key is at least when expiryKept repeats its call.
const leastAge = 3 * time.Second

func expiryKept(ctx context.Context, s *suite) error {
	if s.earliest.at.IsZero() {
		if _, err := s.fresh(ctx, newCall()); err != nil {
			return err
		}
	}
	first := s.earliest
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(first.at.Add(leastAge))):
	}
	age := time.Since(first.at).Round(100 * time.Millisecond)
	told, err := expires(first.answer)
	if life := told.Sub(first.at); err == nil && life < age+time.Second {
		return skip(fmt.Sprintf("the service tells that a key lives %s, and this one is %s old", life.Round(time.Second), age))
	}
	if err := s.again(ctx, first.call, first.answer); err != nil {
		return fmt.Errorf("after %s, with Idempotency-Key-Expires %q: %w", age, first.answer.header.Get("Idempotency-Key-Expires"), err)
	}
	return s.wantEffects(ctx, first.call.operation, 1)
}

func expiry(ctx context.Context, s *suite) error {
	if s.service.BriefSeconds <= 0 {
		return skip("the service has no key scope whose keys expire soon (briefSeconds)")
	}
	// A key that lives a second may expire before the repetition comes: then the
	// repetition is new work, and the case is tried again.
	remembered := false
	err := s.eventually(ctx, func() error {
		c := newCall()
		c.path = "/conform/brief"
		if _, err := s.fresh(ctx, c); err != nil {
			return err
		}
		a, err := s.settle(ctx, c)
		if err == nil && !a.replayed() {
			err = errors.New("the key is forgotten at once")
		}
		if err != nil {
			return err
		}
		remembered = true
		return s.forgotten(ctx, c)
	})
	if err == nil && !remembered {
		err = errors.New("the key was never remembered")
	}
	return err
}

// forgotten waits until the key of a call is new again.
func (s *suite) forgotten(ctx context.Context, c call) error {
	if err := s.eventually(ctx, func() error {
		a, err := s.settle(ctx, c)
		if err == nil && a.replayed() {
			err = fmt.Errorf("the key is still replayed long after %v seconds", s.service.BriefSeconds)
		}
		return err
	}); err != nil {
		return err
	}
	return s.wantEffects(ctx, c.operation, 2)
}

package conform

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// mismatched tests that a service which knows a key by one call refuses the other call
// under the same key. If the service does not serve the other method or media
// type, the case cannot be tested.
func mismatched(one, other variant) runner {
	return func(s *script) {
		base := newCall()
		known, changed := base.as(one), base.as(other)
		first := s.fresh(known)
		s.now("the changed call")
		a := s.call(changed)
		if s.err == nil && other.unserved(a.status) {
			s.must(skip(fmt.Sprintf("the service answers status %d: it does not serve %s", a.status, cmp.Or(other.method, other.mediaType))))
		}
		s.must(refusal(a, codeMismatch, http.StatusConflict, http.StatusUnprocessableEntity))
		if changed.operation != known.operation {
			s.effects(changed, 0)
		}
		s.now("after the changed call")
		s.again(known, first)
		s.effects(known, 1)
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
	return func(s *script) {
		base := newCall()
		first := s.fresh(base.as(one))
		s.now("the other call")
		s.fresh(base.as(other))
		s.now("after the other call")
		s.effects(base, 2)
		s.again(base.as(one), first)
	}
}

func jsonMeaning(s *script) {
	c := newCall()
	first := s.fresh(c)
	c.body = fmt.Sprintf("{ \"operation\" : %q,\n\t\"answer\" : 2.01e2 }", c.operation)
	s.again(c, first)
	c.mediaType = "application/json; charset=UTF-8"
	s.now("with Content-Type " + c.mediaType)
	s.again(c, first)
}

func sendBefore(value ...string) http.Header {
	return http.Header{"Cronce-Send-Before": value}
}

func lateCall(s *script) {
	c := newCall()
	c.header = sendBefore(time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339))
	s.refused(c, codeTooLate, http.StatusPreconditionFailed)
	s.effects(c, 0)
	c.header = sendBefore(time.Now().Add(24 * time.Hour).In(time.FixedZone("", 5400)).Format(time.RFC3339Nano))
	s.now("in time")
	s.fresh(c)
	s.effects(c, 1)
}

func lateReplay(s *script) {
	c := newCall()
	first := s.fresh(c)
	c.header = sendBefore(time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339))
	s.again(c, first)
}

func sendBeforeSyntax(s *script) {
	later := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	for _, header := range []http.Header{sendBefore("tomorrow"), sendBefore("2026-02-30T00:00:00Z"), sendBefore(later, later)} {
		c := newCall()
		c.header = header
		if a := s.call(c); a.status != http.StatusBadRequest {
			s.failf("Cronce-Send-Before %q: %s, want 400", header.Values("Cronce-Send-Before"), a)
		}
		s.effects(c, 0)
	}
}

func unidentified(s *script) {
	c := newCall()
	c.principal = "-"
	s.refused(c, codeNoPrincipal, http.StatusUnauthorized)
	s.effects(c, 0)
}

func missingKey(s *script) {
	c := newCall()
	c.keys = nil
	s.refused(c, codeMissingKey, http.StatusBadRequest)
	s.effects(c, 0)
}

func invalidKey(s *script) {
	for _, keys := range [][]string{{""}, {"a b"}, {`"a`}, {`"a"b`}, {strings.Repeat("k", maxKeyLength+1)}, {"\xc3\xa4"}, {"a", "b"},
		{"a", "a"}} {
		c := newCall()
		c.keys = keys
		// A server may treat an empty header as a missing one.
		if a := s.call(c); a.status != http.StatusBadRequest || a.code() != codeInvalidKey && a.code() != codeMissingKey {
			s.failf("Idempotency-Key %q: %s, want 400 %s", keys, a, codeInvalidKey)
		}
		s.effects(c, 0)
	}
}

func quotedKey(s *script) {
	c := newCall()
	first := s.fresh(c)
	c.keys = []string{`"` + c.keys[0] + `"`}
	s.again(c, first)
	s.effects(c, 1)
}

func expires(a answer) (time.Time, error) {
	text := a.header.Get("Idempotency-Key-Expires")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("Idempotency-Key-Expires is %q; want an RFC 3339 time", text)
	}
	return at, nil
}

func expiryTold(s *script) {
	c := newCall()
	first, err := expires(s.fresh(c))
	s.must(err)
	again, err := expires(s.settled(c))
	s.must(err)
	if !first.Equal(again) {
		s.failf("the first answer tells %s, and the repetition %s", first, again)
	}
}

// leastAge is how old a key is at least when expiryKept repeats its call.
const leastAge = 3 * time.Second

func expiryKept(s *script) {
	if s.earliest.at.IsZero() {
		s.fresh(newCall())
	}
	first := s.earliest
	s.wait(time.Until(first.at.Add(leastAge)))
	age := time.Since(first.at).Round(100 * time.Millisecond)
	end, err := expires(first.answer)
	if life := end.Sub(first.at); err == nil && life < age+time.Second {
		s.must(skip(fmt.Sprintf("the service tells that a key lives %s, and this one is %s old", life.Round(time.Second), age)))
	}
	s.now(fmt.Sprintf("after %s, with Idempotency-Key-Expires %q", age, first.answer.header.Get("Idempotency-Key-Expires")))
	s.again(first.call, first.answer)
	s.effects(first.call, 1)
}

func expiry(s *script) {
	if s.service.BriefSeconds <= 0 {
		s.must(skip("the service has no key scope whose keys expire soon (briefSeconds)"))
		return
	}
	// A key that lives a second may expire before the repetition comes: then the
	// repetition is new work, and the case is tried again.
	remembered := false
	s.must(s.eventually(s.ctx, func() error {
		try := &script{suite: s.suite, ctx: s.ctx}
		c := newCall()
		c.path = "/conform/brief"
		try.fresh(c)
		if !try.settled(c).replayed() {
			try.failf("the key is forgotten at once")
		}
		remembered = remembered || try.err == nil
		try.forgotten(c)
		return try.err
	}))
	if !remembered {
		s.failf("the key was never remembered")
	}
}

// forgotten waits until the key of a call is new again.
func (s *script) forgotten(c call) {
	if s.err != nil {
		return
	}
	s.must(s.eventually(s.ctx, func() error {
		a, err := s.settle(s.ctx, c)
		if err == nil && a.replayed() {
			err = fmt.Errorf("the key is still replayed long after %v seconds", s.service.BriefSeconds)
		}
		return err
	}))
	s.effects(c, 2)
}

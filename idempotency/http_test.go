package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// untouched is a store that must not be asked.
type untouched struct{ t *testing.T }

func (s untouched) Begin(context.Context, store.Claim) (store.Tx, store.KeyStatus, error) {
	s.t.Error("the store was asked")
	return nil, store.KeyStatus{}, idempotency.ErrUnavailable
}

func (s untouched) Lookup(context.Context, store.Claim) (store.KeyStatus, error) {
	s.t.Error("the store was asked")
	return store.KeyStatus{}, idempotency.ErrUnavailable
}

func (untouched) InTransaction(context.Context) bool { return false }

func TestARequestThatNamesNoOperationIsRefusedBeforeTheStoreIsAsked(t *testing.T) {
	who := func(r *http.Request) (string, error) {
		if r.Header.Get("X-Caller") == "" {
			return "", errors.New("nobody")
		}
		return r.Header.Get("X-Caller"), nil
	}
	kit, err := idempotency.New(untouched{t}, idempotency.Options{Principal: who, MaxRequestBody: 10})
	if err != nil {
		t.Fatal(err)
	}
	h := kit.Handler(idempotency.Route{Scope: "s"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was run") }))
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		status int
		code   string
	}{
		{"no key", func(r *http.Request) { r.Header.Del("Idempotency-Key") }, 400, "missing_idempotency_key"},
		{"an empty key", func(r *http.Request) { r.Header.Set("Idempotency-Key", "") }, 400, "invalid_idempotency_key"},
		{"a malformed key", func(r *http.Request) { r.Header.Set("Idempotency-Key", `"k`) }, 400, "invalid_idempotency_key"},
		{"two keys", func(r *http.Request) { r.Header.Add("Idempotency-Key", "k2") }, 400, "invalid_idempotency_key"},
		{"nobody", func(r *http.Request) { r.Header.Del("X-Caller") }, 401, "unidentified_caller"},
		{"a large body", func(r *http.Request) { r.Body = http.NoBody; *r = *withBody(r, "12345678901") }, 413, "request_too_large"},
		{"a malformed send-before", func(r *http.Request) { r.Header.Set("Cronce-Send-Before", "1700000000") }, 400, "invalid_idempotency_request"},
		{"an empty send-before", func(r *http.Request) { r.Header.Set("Cronce-Send-Before", "") }, 400, "invalid_idempotency_request"},
		{"two send-befores", func(r *http.Request) {
			r.Header["Cronce-Send-Before"] = []string{"2126-01-01T00:00:00Z", "2026-01-01T00:00:00Z"}
		}, 400, "invalid_idempotency_request"},
		{"a principal that is not text", func(r *http.Request) { r.Header.Set("X-Caller", "\xff") }, 400, "invalid_idempotency_key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
				r := httptest.NewRequest(method, "/pay", strings.NewReader("{}"))
				r.Header.Set("Idempotency-Key", "k")
				r.Header.Set("X-Caller", "alice")
				c.change(r)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				var p idempotency.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
					t.Fatal(err)
				}
				if w.Code != c.status || p.Status != c.status || p.Code != c.code || w.Header().Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s: %d %+v", method, w.Code, p)
				}
			}
		})
	}
}

// overtaken is a store in which another process completes every key first.
type overtaken struct{ store.Tx }

func (s overtaken) Begin(context.Context, store.Claim) (store.Tx, store.KeyStatus, error) {
	return s, store.KeyStatus{Held: true}, nil
}

func (s overtaken) Lookup(_ context.Context, c store.Claim) (store.KeyStatus, error) {
	return store.KeyStatus{Record: &store.Record{State: store.StateDone, Fingerprint: c.Fingerprint,
		Reply: idempotency.Reply{Status: 201, Body: []byte("theirs")}}}, nil
}

func (overtaken) InTransaction(context.Context) bool { return false }

func (s overtaken) Context(ctx context.Context) context.Context { return ctx }

func (s overtaken) Commit(context.Context, store.Claim, idempotency.Reply) (time.Time, error) {
	return time.Time{}, store.ErrLostRace
}

func TestALostRaceIsAnsweredByTheWinnersReply(t *testing.T) {
	kit, err := idempotency.New(overtaken{}, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	for _, flushed := range []bool{false, true} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/pay", nil)
		r.Header.Set("Idempotency-Key", "k")
		kit.Handler(idempotency.Route{Scope: "s"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("ours"))
			if flushed {
				w.(http.Flusher).Flush()
			}
		})).ServeHTTP(w, r)
		if w.Body.String() != "theirs" {
			t.Errorf("flushed %t: the client has %q", flushed, w.Body)
		}
	}
}

func withBody(r *http.Request, body string) *http.Request {
	again := httptest.NewRequest(r.Method, "/pay", strings.NewReader(body))
	again.Header = r.Header
	return again
}

func TestAKitIsNotBuiltWithoutWhatItNeeds(t *testing.T) {
	one := idempotency.SinglePrincipal("x")
	with := func(o idempotency.Options) (*idempotency.Kit, error) {
		o.Principal = one
		return idempotency.New(untouched{t}, o)
	}
	for name, build := range map[string]func() (*idempotency.Kit, error){
		"Principal": func() (*idempotency.Kit, error) { return idempotency.New(untouched{t}, idempotency.Options{}) },
		"store":     func() (*idempotency.Kit, error) { return idempotency.New(nil, idempotency.Options{Principal: one}) },
		"MismatchStatus": func() (*idempotency.Kit, error) {
			return idempotency.New(untouched{t}, idempotency.Options{Principal: one, MismatchStatus: 400})
		},
		"TTLs": func() (*idempotency.Kit, error) {
			return idempotency.New(untouched{t}, idempotency.Options{Principal: one, TTLs: map[string]time.Duration{"a": 0}})
		},
		// Such a key would be expired when it is stored: its work would be repeated.
		"Options.TTL ":   func() (*idempotency.Kit, error) { return with(idempotency.Options{TTL: -time.Hour}) },
		"MaxRun":         func() (*idempotency.Kit, error) { return with(idempotency.Options{MaxRun: -time.Second}) },
		"StoreTimeout":   func() (*idempotency.Kit, error) { return with(idempotency.Options{StoreTimeout: -time.Second}) },
		"MaxRequestBody": func() (*idempotency.Kit, error) { return with(idempotency.Options{MaxRequestBody: -1}) },
		"MaxReplyBody":   func() (*idempotency.Kit, error) { return with(idempotency.Options{MaxReplyBody: -1}) },
		"MaxStoredBody":  func() (*idempotency.Kit, error) { return with(idempotency.Options{MaxStoredBody: -1}) },
	} {
		if _, err := build(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

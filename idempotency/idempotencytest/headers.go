package idempotencytest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// within is a handler inside middleware that has a cookie and a Vary of its own.
func within(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Origin")
		w.Header().Set("Set-Cookie", "outer=1")
		next.ServeHTTP(w, r)
	})
}

var headerCases = map[string]func(*testing.T, Engine){
	"what outer middleware has set stays beside the handler's": func(t *testing.T, e Engine) {
		h := within(kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Vary", "Accept")
			w.Header().Add("Set-Cookie", "inner=1")
		})))
		for n, cookies := range [][]string{{"outer=1", "inner=1"}, {"outer=1"}} {
			got := post(h, "k", `{}`).Header()
			if !slices.Equal(got["Vary"], []string{"Origin", "Accept"}) || !slices.Equal(got["Set-Cookie"], cookies) {
				t.Errorf("call %d: Vary %q, Set-Cookie %q", n, got["Vary"], got["Set-Cookie"])
			}
		}
	},
	"what only the kit says of a reply a handler cannot": func(t *testing.T, e Engine) {
		for _, status := range []int{200, 500} {
			for _, flush := range []bool{false, true} {
				w := post(kit(t, e.Store).Handler(idempotency.Route{Scope: scope}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					for _, name := range []string{"Idempotent-Replayed", "Idempotency-Key-Expires", "Idempotency-Body"} {
						w.Header().Set(name, "true")
					}
					w.WriteHeader(status)
					if flush {
						w.(http.Flusher).Flush()
					}
				})), http.StatusText(status)[:2]+map[bool]string{true: "f"}[flush], `{}`)
				for _, name := range []string{"Idempotent-Replayed", "Idempotency-Key-Expires", "Idempotency-Body"} {
					if w.Header().Get(name) == "true" {
						t.Errorf("%d, flushed %t: the handler said %s", status, flush, name)
					}
				}
			}
		}
	},
	"what a handler sets after the status is of no reply": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(idempotency.Route{Scope: scope}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/payments/1")
			w.WriteHeader(http.StatusCreated)
			w.Header().Set("Location", "/payments/2")
			w.Write([]byte("paid"))
		}))
		for n := range 2 {
			if got := post(h, "k", `{}`).Header().Get("Location"); got != "/payments/1" {
				t.Errorf("call %d: Location %q", n, got)
			}
		}
	},
	"an unencoded reply is replayed to everybody": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "identity")
			w.Write([]byte("paid"))
		}))
		post(h, "k", `{}`)
		expect(t, post(h, "k", `{}`), 200, "paid", true)
	},
	"a reply without a content type is replayed without one": func(t *testing.T, e Engine) {
		server := httptest.NewServer(kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil // net/http guesses none then
			w.Write([]byte("<html>"))
		})))
		defer server.Close()
		for n := range 2 {
			r := request("k", `{}`)
			r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", server.Listener.Addr().String()
			answer, err := server.Client().Do(r)
			ok(t, err)
			answer.Body.Close()
			if kind, is := answer.Header["Content-Type"]; is {
				t.Errorf("call %d: Content-Type %q", n, kind)
			}
		}
	},
}

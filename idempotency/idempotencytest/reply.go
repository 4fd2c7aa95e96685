package idempotencytest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// replyCases are about what the client gets, and what is stored of it.
var replyCases = map[string]func(*testing.T, Engine){
	"a repetition gets the stored status, headers and bytes, and no effect": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ok(t, e.Write(r.Context(), "paid"))
			w.Header().Set("Location", "/payments/7")
			w.Header().Set("Set-Cookie", "session=secret")
			w.Header().Set("Date", "yesterday")
			w.WriteHeader(http.StatusCreated)
			w.Write([]byte("caf\xe9 \x00\xff"))
		}))
		first, second := post(h, "k", `{}`), post(h, "k", `{}`)
		expect(t, first, 201, "", false)
		expect(t, second, 201, "", true)
		if second.Body.String() != "caf\xe9 \x00\xff" || second.Header().Get("Location") != "/payments/7" {
			t.Errorf("replayed %q at %q", second.Body, second.Header().Get("Location"))
		}
		for _, name := range []string{"Set-Cookie", "Date"} {
			if second.Header().Get(name) != "" {
				t.Errorf("%s was replayed", name)
			}
		}
		written(t, e, "paid", 1)
	},
	"a header that is not text is sent and not replayed": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ok(t, e.Write(r.Context(), "paid"))
			w.Header().Set("Content-Disposition", "attachment; filename=caf\xe9")
			w.Header().Set("Etag", "\"a\x00b\"")
			w.Header().Set("Location", "/caf\u00e9")
		}))
		first, second := post(h, "k", `{}`), post(h, "k", `{}`)
		expect(t, first, 200, "", false)
		expect(t, second, 200, "", true)
		if first.Header().Get("Content-Disposition") == "" || second.Header().Get("Content-Disposition") != "" ||
			second.Header().Get("Etag") != "" {
			t.Errorf("first %q, then %q", first.Header(), second.Header())
		}
		if got := second.Header().Get("Location"); got != "/caf\u00e9" {
			t.Errorf("Location: %q", got)
		}
	},
	"an empty reply replays": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 204, ""))
		expect(t, post(h, "k", `{}`), 204, "", false)
		expect(t, post(h, "k", `{}`), 204, "", true)
		written(t, e, "paid", 1)
	},
	"a reply tells when its key expires": func(t *testing.T, e Engine) {
		h := kit(t, e.Store, func(o *idempotency.Options) { o.TTLs = map[string]time.Duration{"route:*": 72 * time.Hour} }).
			Handler(route, pay(e, 200, ""))
		for range 2 {
			at, err := time.Parse(time.RFC3339, post(h, "k", `{}`).Header().Get("Idempotency-Key-Expires"))
			ok(t, err)
			if left := time.Until(at); left < 71*time.Hour || left > 73*time.Hour {
				t.Errorf("expires in %v, want 72h", left)
			}
		}
	},
	"of an oversized reply the effect and the status are kept": func(t *testing.T, e Engine) {
		h := kit(t, e.Store, func(o *idempotency.Options) { o.MaxStoredBody = 10 }).
			Handler(route, pay(e, 201, strings.Repeat("x", 100)))
		first, second := post(h, "k", `{}`), post(h, "k", `{}`)
		expect(t, first, 201, strings.Repeat("x", 100), false)
		expect(t, second, 201, "", true)
		if second.Body.Len() != 0 || second.Header().Get("Idempotency-Body") != "omitted" {
			t.Errorf("replayed %q, Idempotency-Body: %q", second.Body, second.Header().Get("Idempotency-Body"))
		}
		written(t, e, "paid", 1)
	},
	"a reply over MaxReplyBody is refused and leaves the key free and no effect": func(t *testing.T, e Engine) {
		k := kit(t, e.Store, func(o *idempotency.Options) { o.MaxReplyBody = 100 })
		expect(t, post(k.Handler(route, pay(e, 201, strings.Repeat("x", 101))), "k", `{}`), 500, "reply_too_large", false)
		written(t, e, "paid", 0)
		expect(t, post(k.Handler(route, pay(e, 201, strings.Repeat("x", 100))), "k", `{}`), 201, "", false)
	},
	"a flushed reply is replayed whole": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ok(t, e.Write(r.Context(), "paid"))
			w.Write([]byte("one "))
			w.(http.Flusher).Flush()
			w.Write([]byte("two"))
		}))
		expect(t, post(h, "k", `{}`), 200, "one two", false)
		expect(t, post(h, "k", `{}`), 200, "one two", true)
		written(t, e, "paid", 1)
	},
	// A client of HTTP/1.0 takes the end of the connection for that of the reply.
	"of a reply whose commit fails no client has a byte": func(t *testing.T, e Engine) {
		for name, answer := range map[string]func(http.ResponseWriter){
			"flushed": func(w http.ResponseWriter) { ok(t, http.NewResponseController(w).Flush()) },
			"large":   func(w http.ResponseWriter) { w.Write(make([]byte, 5<<20)) },
		} {
			w := post(kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer(w)
				e.Kill(r.Context())
			})), name, `{}`)
			if w.Code < 500 || w.Body.Len() > 1000 {
				t.Errorf("%s: answered %d with %d bytes", name, w.Code, w.Body.Len())
			}
		}
	},
	"a client that reads slowly gets what is committed": func(t *testing.T, e Engine) {
		k := kit(t, e.Store, func(o *idempotency.Options) { o.MaxStoredBody = 10 })
		client := &slowClient{ResponseRecorder: httptest.NewRecorder(), meanwhile: func() { written(t, e, "paid", 1) }}
		k.Handler(route, pay(e, 201, strings.Repeat("x", 100))).ServeHTTP(client, request("k", `{}`))
		if client.writes == 0 {
			t.Error("the client got nothing")
		}
	},
	"a handler sets the deadlines of its connection": func(t *testing.T, e Engine) {
		client := &slowClient{ResponseRecorder: httptest.NewRecorder(), meanwhile: func() {}}
		kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := http.NewResponseController(w)
			ok(t, errors.Join(c.SetWriteDeadline(time.Unix(1, 0)), c.SetReadDeadline(time.Unix(2, 0)), c.EnableFullDuplex()))
		})).ServeHTTP(client, request("k", `{}`))
		if want := []int64{1, 2, 3}; !slices.Equal(client.told, want) {
			t.Errorf("the connection was told %v, want %v", client.told, want)
		}
	},
	"a compressed reply is replayed only to a client that accepts it": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Error("the handler was invited to compress")
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("zzz"))
		}))
		post(h, "k", `{}`, "Accept-Encoding", "gzip")
		expect(t, post(h, "k", `{}`), 200, "zzz", true) // without the header all are accepted (RFC 9110, section 12.5.3)
		for _, accept := range []string{"br, gzip;q=0.5", "*", "br;q=1, *;q=0.1", "GZIP, *;q=0"} {
			expect(t, post(h, "k", `{}`, "Accept-Encoding", accept), 200, "zzz", true)
		}
		for _, accept := range []string{"", "br", "gzip;q=0", "gzip; Q=0.00", "*;q=0", "*, gzip;q=0"} {
			w := post(h, "k", `{}`, "Accept-Encoding", accept)
			if w.Body.Len() != 0 || w.Header().Get("Content-Encoding") != "" {
				t.Errorf("a client that accepts %q got %q", accept, w.Body)
			}
		}
	},
}

// slowClient is a connection to a client: meanwhile runs whenever it is written
// to, and it notes what it is told of deadlines and, by 3, of full duplex.
type slowClient struct {
	*httptest.ResponseRecorder
	meanwhile func()
	writes    int
	told      []int64
}

func (c *slowClient) Write(p []byte) (int, error) {
	c.writes++
	c.meanwhile()
	return c.ResponseRecorder.Write(p)
}

func (c *slowClient) SetWriteDeadline(at time.Time) error { return c.tell(at.Unix()) }
func (c *slowClient) SetReadDeadline(at time.Time) error  { return c.tell(at.Unix()) }
func (c *slowClient) EnableFullDuplex() error             { return c.tell(3) }

func (c *slowClient) tell(what int64) error {
	c.told = append(c.told, what)
	return nil
}

package targets_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

func TestWhatIsSent(t *testing.T) {
	var got http.Header
	var line, body, host string
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got, line, body, host = r.Header, r.Method+" "+r.RequestURI, string(raw), r.Host
	})
	ts := resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "TOKEN"}}},
		env{"MEMBERSHIP_URL": s.URL + "/api/", "TOKEN": "s3cret"}, nil)
	c := call()
	c.Attempt = 3
	c.SendBefore = time.Date(2126, 11, 21, 5, 0, 0, 1_999_999, time.FixedZone("", 3600))
	c.Call.Path = "/v1/locks%2Frelease?dry=0&q=%C3%A4"
	// The second and the third are from a row that was changed by hand.
	c.Call.Headers = map[string]string{"x-edition": "2; beta", "idempotency-key": "another", "Cronce-Attempt": "1"}
	if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerFresh {
		t.Fatalf("got %+v", a)
	}
	if want := "POST /api/v1/locks%2Frelease?dry=0&q=%C3%A4"; line != want {
		t.Errorf("request line %q, want %q", line, want)
	}
	if want := `{"reason":"hold expired"}`; body != want {
		t.Errorf("body %q, want %q", body, want)
	}
	if want := s.Listener.Addr().String(); host != want {
		t.Errorf("host %q, want %q", host, want)
	}
	for name, want := range map[string]string{
		"Idempotency-Key":     runID,
		"Cronce-Registry":     "acme",
		"Cronce-Run-Id":       runID,
		"Cronce-Job-Id":       "release-locks",
		"Cronce-Scheduled-At": "2026-11-21T03:00:00Z",
		"Cronce-Attempt":      "3",
		"Cronce-Send-Before":  "2126-11-21T04:00:00.001Z", // cut off, not rounded up
		"Authorization":       "Bearer s3cret",
		"User-Agent":          "cronce/1.2.3",
		"X-Edition":           "2; beta",
		"Content-Type":        "application/json",
		"Content-Length":      "25",
	} {
		if values := got.Values(name); len(values) != 1 || values[0] != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
		got.Del(name)
	}
	if len(got) != 0 {
		t.Errorf("sent besides: %v", got)
	}
}

func TestACallWithoutBodyHasNoContentType(t *testing.T) {
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	c := call()
	c.Call.Method, c.Call.Body = "DELETE", nil
	if a := attempt(t, to(t, s.URL), c, maxWait); a.Kind != ledger.AnswerFresh {
		t.Fatalf("got %+v", a)
	}
	if ct, ok := got["Content-Type"]; ok {
		t.Errorf("Content-Type %q", ct)
	}
}

func TestTraceFieldsCannotRedefineOurs(t *testing.T) {
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": s.URL}, func(c *targets.Config) {
		c.Inject = func(_ context.Context, h http.Header) {
			h.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
			for _, name := range []string{"Idempotency-Key", "Cronce-Registry", "Cronce-Send-Before", "Authorization", "User-Agent"} {
				h.Set(name, "forged")
			}
		}
	})
	c := call()
	c.SendBefore = time.Time{}
	if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerFresh {
		t.Fatalf("got %+v", a)
	}
	if got.Get("Traceparent") == "" {
		t.Error("the trace field did not arrive")
	}
	for name, values := range got {
		if values[0] == "forged" {
			t.Errorf("%s was redefined", name)
		}
	}
}

func TestIdentitiesCannotInjectHeaders(t *testing.T) {
	var calls atomic.Int32
	ts := to(t, serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) }).URL)
	for rule, edit := range map[string]func(*executor.Call){
		"a job id with a line break":     func(c *executor.Call) { c.JobID = "a\r\nX-Admin: yes" },
		"a run ID with a line break":     func(c *executor.Call) { c.RunID = "a@b\nX-Admin: yes" },
		"a registry with a space":        func(c *executor.Call) { c.Registry = "acme x" },
		"no run ID":                      func(c *executor.Call) { c.RunID = "" },
		"a method with a space":          func(c *executor.Call) { c.Call.Method = "POST /other HTTP/1.1\r\nX: y" },
		"a path with a line break":       func(c *executor.Call) { c.Call.Path = "/a HTTP/1.1\r\nX-Admin: yes" },
		"a query with a line break":      func(c *executor.Call) { c.Call.Path = "/a?b HTTP/1.1\r\nX-Admin: yes" },
		"a query with a space":           func(c *executor.Call) { c.Call.Path = "/a?b HTTP/1.1" },
		"a path that is another host":    func(c *executor.Call) { c.Call.Path = "http://evil.example/" },
		"a path of two slashes":          func(c *executor.Call) { c.Call.Path = "//evil.example/" },
		"a path that extends the host":   func(c *executor.Call) { c.Call.Path = "@evil.example/" },
		"a path that extends the port":   func(c *executor.Call) { c.Call.Path = "1/" },
		"a path that climbs":             func(c *executor.Call) { c.Call.Path = "/../admin" },
		"a path that climbs in disguise": func(c *executor.Call) { c.Call.Path = "/%2e%2E/admin" },
	} {
		c := call()
		edit(&c)
		if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerRefused || a.Reason != ledger.ReasonPermanent || a.Status != 0 {
			t.Errorf("%s: got %+v", rule, a)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d of them were sent", n)
	}
}

// net/http takes an Idempotency-Key for leave to repeat a request by itself on
// a connection that the server has closed. The ledger would not know.
func TestAnAttemptIsOneRequest(t *testing.T) {
	var requests atomic.Int32
	ts := to(t, tcp(t, func(c net.Conn) {
		for readRequest(c) != nil {
			if requests.Add(1) == 2 {
				return // the first connection's second request gets no answer
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}))
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh {
		t.Fatalf("first: %+v", a)
	}
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerUnknown {
		t.Errorf("second: %+v, want it unknown", a)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests for 2 attempts", n)
	}
}

func TestWhatWasSurelyNotSentIsAFailureNotUnknown(t *testing.T) {
	untrusted := httptest.NewTLSServer(nil)
	t.Cleanup(untrusted.Close)
	old := httptest.NewUnstartedServer(nil)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	t.Cleanup(old.Close)
	quiet(untrusted, old)
	for rule, url := range map[string]string{
		"nobody listens":             nobody,
		"no such host":               "https://target.invalid",
		"an untrusted certificate":   untrusted.URL,
		"TLS 1.1":                    old.URL,
		"a TLS target without TLS":   "https" + serve(t, plain(200)).URL[4:],
		"closed in the handshake":    "https" + tcp(t, func(net.Conn) {})[4:],
		"a handshake without answer": "https" + tcp(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })[4:],
	} {
		t.Run(rule, func(t *testing.T) {
			a := attempt(t, to(t, url), call(), 300*time.Millisecond)
			if a.Kind != ledger.AnswerFailed || a.Unsent || a.Status != 0 {
				t.Errorf("got %+v", a)
			}
			t.Log(a.Error)
		})
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(plain(200))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": s.URL}, func(c *targets.Config) { c.RootCAs = pool })
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh {
		t.Errorf("got %+v", a)
	}
}

func TestNothingIsSentPastSendBefore(t *testing.T) {
	var calls atomic.Int32
	ts := to(t, serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) }).URL)
	c := call()
	c.SendUntil = time.Now()
	if a := attempt(t, ts, c, maxWait); !a.Unsent {
		t.Errorf("got %+v", a)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d sent", n)
	}
}

func TestATargetOfAnotherRegistryIsLeftToOthers(t *testing.T) {
	c := call()
	c.Call.Target = "accounting"
	a := attempt(t, to(t, nobody), c, maxWait)
	if !a.Unsent || a.RetryAfter < time.Second {
		t.Errorf("got %+v, want it unsent for a while", a)
	}
}

func TestACallThatItsCallerStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices a hang-up only once it has the body
		stop()
		<-r.Context().Done()
	})
	ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": s.URL}, func(c *targets.Config) { c.BreakerFailures = 1 })
	if a := ts.Call(ctx, call()); a.Kind != ledger.AnswerUnknown {
		t.Errorf("stopped in flight: %+v, want it unknown", a)
	}
	if a := ts.Call(ctx, call()); !a.Unsent {
		t.Errorf("stopped before: %+v, want it unsent", a)
	}
	if state := ts.Breakers()["membership"]; state != "closed" {
		t.Errorf("it says nothing about the target, but the breaker is %s", state)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 64
		var opened atomic.Int32
		dial := inMemory(func() string {
			time.Sleep(time.Second) // until all of a round are under way
			return "HTTP/1.1 500 No\r\nContent-Type: application/problem+json\r\nContent-Length: 15\r\n\r\n{\"code\":\"boom\"}"
		})
		ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": aTarget}, func(c *targets.Config) {
			c.BreakerFailures = 10_000
			c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				opened.Add(1)
				return dial(ctx, network, address)
			}
		})
		for range 5 {
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() { attempt(t, ts, call(), maxWait) })
			}
			wg.Wait()
			synctest.Wait() // each connection is given back
		}
		if n := opened.Load(); n != callers {
			t.Errorf("%d connections for %d calls of %d callers", n, 5*callers, callers)
		}
	})
}

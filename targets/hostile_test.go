package targets_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// readRequest reads one request off a bare connection.
func readRequest(c net.Conn) *http.Request {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, req.Body)
	return req
}

// answering sends these bytes once the request is in, then closes.
func answering(raw string) func(net.Conn) {
	return func(c net.Conn) {
		if readRequest(c) != nil {
			_, _ = io.WriteString(c, raw)
		}
	}
}

// streaming sends a beginning, and then more of the same for as long as
// somebody reads.
func streaming(head, more string) func(net.Conn) {
	return func(c net.Conn) {
		if readRequest(c) == nil {
			return
		}
		again := []byte(more)
		_, err := io.WriteString(c, head)
		for err == nil {
			_, err = c.Write(again)
		}
	}
}

// stalling sends these bytes and then nothing, until the caller hangs up.
func stalling(raw string) func(net.Conn) {
	return func(c net.Conn) {
		if readRequest(c) != nil {
			_, _ = io.WriteString(c, raw)
			_, _ = io.Copy(io.Discard, c)
		}
	}
}

// reset ends a connection with a RST.
func reset(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func TestHostileAnswers(t *testing.T) {
	kilo := strings.Repeat("x", 1024)
	for _, c := range []struct {
		rule   string
		handle func(net.Conn)
		kind   ledger.AnswerKind
		reason ledger.Reason
	}{
		{"headers without end are cut off", streaming("HTTP/1.1 200 OK\r\n", "X-Pad: "+kilo+"\r\n"), ledger.AnswerUnknown, ""},
		{"one header line without end is cut off", streaming("HTTP/1.1 200 OK\r\nX-Pad: ", kilo), ledger.AnswerUnknown, ""},
		{"a status line without end is cut off", streaming("HTTP/1.1 200 ", kilo), ledger.AnswerUnknown, ""},
		{"interim answers without end are cut off", streaming("", "HTTP/1.1 103 Early Hints\r\nLink: "+kilo+"\r\n\r\n"), ledger.AnswerUnknown, ""},
		{"a success whose body has no end is a success", streaming("HTTP/1.1 200 OK\r\n\r\n", kilo), ledger.AnswerFresh, ""},
		{"a failure whose body has no end is a failure", streaming("HTTP/1.1 500 No\r\nContent-Type: application/problem+json\r\n\r\n", kilo), ledger.AnswerFailed, ""},
		{"a status that is not a number", answering("HTTP/1.1 abc OK\r\n\r\n"), ledger.AnswerUnknown, ""},
		{"another protocol", answering("SSH-2.0-OpenSSH_9.9\r\n\r\n"), ledger.AnswerUnknown, ""},
		{"a status of zero", answering("HTTP/1.1 000 Zero\r\nContent-Length: 0\r\n\r\n"), ledger.AnswerFailed, ""},
		{"101 that nobody asked for", answering("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), ledger.AnswerFailed, ""},
		{"interim answers are passed over", answering("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), ledger.AnswerFresh, ""},
		{"a success cut off in its body is a success", answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), ledger.AnswerFresh, ""},
		{"a success with a broken chunk is a success", answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), ledger.AnswerFresh, ""},
		{"a body longer than announced", answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}{}{}{}"), ledger.AnswerFresh, ""},
		{"two lengths that differ", answering("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"), ledger.AnswerUnknown, ""},
		{"a negative length", answering("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), ledger.AnswerUnknown, ""},
		{"a 409 cut off in its body could mean in progress", answering("HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Length: 100\r\n\r\n{\"code\":\"idempo"), ledger.AnswerUnknown, ""},
		{"a 409 that a proxy compressed could mean in progress", answering("HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nzzzz"), ledger.AnswerUnknown, ""},
		{"a 409 of identity encoding is read", answering("HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}"), ledger.AnswerRefused, ledger.ReasonPermanent},
		{"a 409 with more than is kept could mean in progress", answering("HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat(" ", 70000)), ledger.AnswerUnknown, ""},
		{"a 412 cut off in its body is unknown", answering("HTTP/1.1 412 No\r\nContent-Type: application/problem+json\r\nContent-Length: 100\r\n\r\n{"), ledger.AnswerUnknown, ""},
		{"a 404 cut off in its body is permanent", answering("HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nhalf"), ledger.AnswerRefused, ledger.ReasonPermanent},
		{"closed in the middle of the request", func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, ledger.AnswerUnknown, ""},
		{"closed without an answer", answering(""), ledger.AnswerUnknown, ""},
		{"closed in the status line", answering("HTTP/1.1 2"), ledger.AnswerUnknown, ""},
		{"closed in the headers", answering("HTTP/1.1 200 OK\r\nContent-Le"), ledger.AnswerUnknown, ""},
		{"reset in the middle of the request", func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); reset(c) }, ledger.AnswerUnknown, ""},
		{"reset without an answer", func(c net.Conn) { readRequest(c); reset(c) }, ledger.AnswerUnknown, ""},
		{"reset in the headers", func(c net.Conn) { answering("HTTP/1.1 200 OK\r\nX")(c); reset(c) }, ledger.AnswerUnknown, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := attempt(t, to(t, tcp(t, c.handle)), call(), maxWait)
			if got.Unsent || got.Kind != c.kind || got.Reason != c.reason {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSlowAnswersEndWithTheAttempt(t *testing.T) {
	for _, c := range []struct {
		rule, raw string
		want      ledger.AnswerKind
	}{
		{"nothing at all", "", ledger.AnswerUnknown},
		{"headers that never end", "HTTP/1.1 200 OK\r\nX-A: b\r\n", ledger.AnswerUnknown},
		{"a success whose body never comes", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", ledger.AnswerFresh},
		{"a conflict whose body never comes", "HTTP/1.1 409 Conflict\r\nContent-Length: 10\r\n\r\n", ledger.AnswerUnknown},
		{"a refusal whose body never comes", "HTTP/1.1 403 No\r\nContent-Length: 10\r\n\r\n", ledger.AnswerRefused},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": aTarget}, func(cfg *targets.Config) { cfg.Dial = piped(stalling(c.raw)) })
				begun := time.Now()
				got := attempt(t, ts, call(), 200*time.Millisecond)
				if took := time.Since(begun); got.Kind != c.want || took != 200*time.Millisecond {
					t.Errorf("got %+v after %v, want %q at the deadline", got, took, c.want)
				}
			})
		})
	}
}

func TestAnAnswerCostsBoundedMemory(t *testing.T) {
	head := "HTTP/1.1 500 No\r\nContent-Type: application/problem+json\r\nContent-Encoding: gzip\r\nContent-Length: 1000000000\r\n\r\n"
	ts := to(t, tcp(t, streaming(head, strings.Repeat(" ", 64<<10))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := attempt(t, ts, call(), maxWait)
	runtime.ReadMemStats(&after)
	if got.Kind != ledger.AnswerFailed {
		t.Errorf("got %+v", got)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 2<<20 {
		t.Errorf("one answer allocated %d bytes", spent)
	}
}

func TestHeadersAreBoundedAt64KiB(t *testing.T) {
	pad := func(kilo int) string {
		return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + strings.Repeat("X-Pad: "+strings.Repeat("x", 1015)+"\r\n", kilo) + "\r\n"
	}
	if a := attempt(t, to(t, tcp(t, answering(pad(60)))), call(), maxWait); a.Kind != ledger.AnswerFresh {
		t.Errorf("60 KiB: %+v", a)
	}
	if a := attempt(t, to(t, tcp(t, answering(pad(80)))), call(), maxWait); a.Kind != ledger.AnswerUnknown {
		t.Errorf("80 KiB: %+v", a)
	}
}

func TestBodiesAreReadUpTo128KiB(t *testing.T) {
	for _, status := range []string{"200 OK", "500 No"} {
		var taken atomic.Int64
		cut := make(chan struct{}) // closed when the target's end has noticed
		ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": aTarget}, func(c *targets.Config) {
			answer := streaming("HTTP/1.1 "+status+"\r\n\r\n", strings.Repeat("x", 1024))
			c.Dial = piped(func(far net.Conn) { // without a buffer: what is taken is read
				defer close(cut)
				answer(counting{far, &taken})
			})
		})
		attempt(t, ts, call(), maxWait)
		<-cut
		if n := taken.Load(); n < 64<<10 || n > 140<<10 {
			t.Errorf("%s: %d bytes of an endless body were read", status, n)
		}
	}
}

// counting counts what is written to a connection and taken by its other end.
type counting struct {
	net.Conn
	taken *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.taken.Add(int64(n))
	return n, err
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var visits atomic.Int32
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) { visits.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := serve(t, plain(status, "Location", elsewhere.URL+"/steal"))
		ts := resolve(t, jobs.Target{Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "TOKEN"}}},
			env{"MEMBERSHIP_URL": s.URL, "TOKEN": "s3cret"}, nil)
		if got := attempt(t, ts, call(), maxWait); got.Kind != ledger.AnswerRefused || got.Reason != ledger.ReasonPermanent {
			t.Errorf("%d: got %+v", status, got)
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d requests (with the token) went where the target pointed", n)
	}
}

// A target that reflects what it was sent must not get it into the ledger or
// the log.
func TestNothingSecretReachesErrorsOrLogs(t *testing.T) {
	const secret = "tok-6f1d2c"
	echo := func(format string) func(net.Conn) {
		return answering(strings.ReplaceAll(format, "SECRET", secret))
	}
	for _, c := range []struct {
		rule   string
		handle func(net.Conn)
	}{
		{"a malformed status line", echo("HTTP/1.1 SECRET\r\n\r\n")},
		{"a reason phrase", echo("HTTP/1.1 400 SECRET\r\nContent-Length: 0\r\n\r\n")},
		{"a malformed header", echo("HTTP/1.1 200 OK\r\nSECRET\r\n\r\n")},
		{"a bad length", echo("HTTP/1.1 200 OK\r\nContent-Length: SECRET\r\n\r\n")},
		{"an unknown transfer coding", echo("HTTP/1.1 200 OK\r\nTransfer-Encoding: SECRET\r\n\r\n")},
		{"a redirect", echo("HTTP/1.1 302 Found\r\nLocation: http://SECRET/%zz\r\nContent-Length: 0\r\n\r\n")},
		{"a problem code", echo("HTTP/1.1 400 No\r\nConnection: close\r\nContent-Type: application/problem+json\r\n\r\n{\"code\":\"SECRET\"}")},
		{"a part of it as a problem code", echo("HTTP/1.1 400 No\r\nConnection: close\r\nContent-Type: application/problem+json\r\n\r\n{\"code\":\"" + secret[:6] + "\"}")},
		{"a problem title", echo("HTTP/1.1 500 No\r\nConnection: close\r\nContent-Type: application/problem+json\r\n\r\n{\"title\":\"SECRET\",\"detail\":\"SECRET\"}")},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var log bytes.Buffer
			ts := resolve(t, jobs.Target{KeepAnswers: time.Hour, Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "TOKEN"}}},
				env{"MEMBERSHIP_URL": tcp(t, c.handle) + "/prefix-" + secret, "TOKEN": secret},
				func(c *targets.Config) {
					c.BreakerFailures = 1
					c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				})
			got := attempt(t, ts, call(), maxWait)
			if strings.Contains(got.Error+got.Code+got.Excerpt+log.String(), secret[:6]) {
				t.Errorf("it shows: %+v\n%s", got, log.String())
			}
			if !strings.HasPrefix(got.Error, "membership POST /v1/locks/release: ") {
				t.Errorf("the error does not name the call: %q", got.Error)
			}
		})
	}
}

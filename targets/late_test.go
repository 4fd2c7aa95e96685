package targets_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// slowDial connects after a time.
func slowDial(by time.Duration, dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		time.Sleep(by)
		return dial(ctx, network, address)
	}
}

// To look a host up and to connect may take longer than the run has.
func TestNothingIsSentOnAConnectionThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		dial := slowDial(5*time.Second, piped(func(c net.Conn) {
			if readRequest(c) != nil {
				sent++
			}
		}))
		ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": aTarget}, func(c *targets.Config) { c.Dial = dial })
		c := call()
		c.SendUntil = time.Now().Add(3 * time.Second)
		if a := attempt(t, ts, c, maxWait); !a.Unsent || sent != 0 {
			t.Errorf("got %+v, %d sent", a, sent)
		}
	})
}

// serveHTTP2 returns targets that call a server by HTTP/2, whose connections come after a time.
func serveHTTP2(t *testing.T, by time.Duration, handle http.HandlerFunc) *targets.Targets {
	s := httptest.NewUnstartedServer(handle)
	s.EnableHTTP2 = true
	quiet(s)
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": s.URL}, func(c *targets.Config) {
		c.RootCAs, c.Dial = pool, slowDial(by, (&net.Dialer{}).DialContext)
	})
}

func TestNothingIsSentOnAnHTTP2ConnectionThatCameTooLate(t *testing.T) {
	var calls atomic.Int32
	ts := serveHTTP2(t, 200*time.Millisecond, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	c := call()
	c.SendUntil = time.Now().Add(100 * time.Millisecond)
	if a := attempt(t, ts, c, maxWait); !a.Unsent || calls.Load() != 0 {
		t.Errorf("got %+v, %d sent", a, calls.Load())
	}
}

// Calls share an HTTP/2 connection: one that comes too late leaves it to the others.
func TestACallThatIsTooLateLeavesTheConnectionToOthers(t *testing.T) {
	arrived, late := make(chan struct{}), make(chan struct{})
	ts := serveHTTP2(t, 500*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-late
	})
	answers := make(chan executor.Answer)
	go func() { answers <- attempt(t, ts, call(), maxWait) }()
	c := call()
	c.SendUntil = time.Now().Add(250 * time.Millisecond)
	if a := attempt(t, ts, c, maxWait); !a.Unsent {
		t.Errorf("got %+v", a)
	}
	<-arrived
	close(late)
	if a := <-answers; a.Kind != ledger.AnswerFresh {
		t.Errorf("got %+v of the call in time", a)
	}
}

// The transport repeats a request without a body if a connection that it has used before closes
// without an answer, however long that takes.
func TestTheTransportRepeatsNothingPastSendBefore(t *testing.T) {
	for _, c := range []struct {
		rule  string
		until time.Duration
		want  executor.Answer
		sent  int
	}{
		{"in time", time.Hour, executor.Answer{Kind: ledger.AnswerFresh}, 3},
		{"too late", 3 * time.Second, executor.Answer{Kind: ledger.AnswerUnknown}, 2},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				dial := piped(func(conn net.Conn) {
					from := bufio.NewReader(conn)
					for {
						if _, err := http.ReadRequest(from); err != nil {
							return
						}
						if sent++; sent == 2 {
							time.Sleep(5 * time.Second)
							return
						}
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
				})
				ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": aTarget}, func(c *targets.Config) { c.Dial = dial })
				defer ts.Close()
				bodyless := call()
				bodyless.Call.Method, bodyless.Call.Body = "GET", nil
				attempt(t, ts, bodyless, maxWait)
				bodyless.SendUntil = time.Now().Add(c.until)
				if a := attempt(t, ts, bodyless, maxWait); a.Kind != c.want.Kind || a.Unsent || sent != c.sent {
					t.Errorf("got %+v, %d sent, want %d", a, sent, c.sent)
				}
			})
		})
	}
}

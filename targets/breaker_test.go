package targets_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// inMemory answers connections within a synctest bubble: each request gets the
// raw answer that reply gives at that moment; "" closes the connection.
func inMemory(reply func() string) dialer {
	return piped(func(c net.Conn) {
		for readRequest(c) != nil {
			raw := reply()
			if _, err := io.WriteString(c, raw); err != nil || raw == "" {
				return
			}
		}
	})
}

const (
	rawOK   = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	raw500  = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
	raw404  = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
	raw429  = "HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n"
	raw503  = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
	aTarget = nobody // only the dialer in memory reaches it
)

// bubble is a target in virtual time with a breaker of 3 failures and 10 s.
func bubble(t *testing.T, reply func() string) *targets.Targets {
	return resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": aTarget}, func(c *targets.Config) {
		c.Dial, c.BreakerFailures, c.BreakerOpenFor = inMemory(reply), 3, 10*time.Second
	})
}

func TestTheBreakerOpensAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, sent := raw500, 0
		ts := bubble(t, func() string { sent++; return answer })
		call1 := func() (unsent bool, wait time.Duration) {
			a := attempt(t, ts, call(), time.Second)
			return a.Unsent, a.RetryAfter
		}
		expect := func(when, state string, n int) {
			t.Helper()
			if got := ts.Breakers()["membership"]; got != state || sent != n {
				t.Errorf("%s: breaker %s after %d requests, want %s after %d", when, got, sent, state, n)
			}
		}
		for range 3 {
			call1()
		}
		expect("after three failures", "open", 3)
		time.Sleep(4 * time.Second)
		if unsent, wait := call1(); !unsent || wait != 6*time.Second+time.Millisecond {
			t.Errorf("while open: unsent %v, again in %v; want true, 6.001s", unsent, wait)
		}
		expect("while open", "open", 3)
		time.Sleep(6*time.Second + time.Millisecond)
		expect("after its time", "half-open", 3)
		call1()
		expect("after a failed probe", "open", 4)
		time.Sleep(10*time.Second + time.Millisecond)
		answer = rawOK
		call1()
		expect("after a good probe", "closed", 5)
	})
}

func TestWhileHalfOpenOneCallTriesTheTargetOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, release := raw500, make(chan struct{})
		var sent atomic.Int32
		ts := bubble(t, func() string {
			if sent.Add(1); answer == rawOK {
				<-release
			}
			return answer
		})
		for range 3 {
			attempt(t, ts, call(), time.Second)
		}
		time.Sleep(11 * time.Second)
		answer = rawOK
		probe := make(chan struct{})
		go func() { defer close(probe); attempt(t, ts, call(), time.Minute) }()
		synctest.Wait()
		if a := attempt(t, ts, call(), time.Second); !a.Unsent || a.RetryAfter <= 0 {
			t.Errorf("beside the probe: %+v, want it unsent", a)
		}
		close(release)
		<-probe
		if a := attempt(t, ts, call(), time.Second); a.Kind != ledger.AnswerFresh {
			t.Errorf("after the probe: %+v", a)
		}
		if n := sent.Load(); n != 5 {
			t.Errorf("%d requests, want 3 failures, a probe and one more", n)
		}
	})
}

func TestWhatOpensTheBreaker(t *testing.T) {
	for _, c := range []struct{ rule, answer, state string }{
		{"500s", raw500, "open"},
		{"503s", raw503, "open"},
		{"connections that break", "", "open"},
		{"404s do not", raw404, "closed"},
		{"429s do not", raw429, "closed"},
		{"successes do not", rawOK, "closed"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts := bubble(t, func() string { return c.answer })
				for range 5 {
					attempt(t, ts, call(), time.Second)
				}
				if state := ts.Breakers()["membership"]; state != c.state {
					t.Errorf("breaker %s, want %s", state, c.state)
				}
			})
		})
	}
}

func TestTimeoutsOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := bubble(t, func() string { time.Sleep(time.Minute); return rawOK })
		for range 3 {
			begun := time.Now()
			if a := attempt(t, ts, call(), 30*time.Second); a.Kind != ledger.AnswerUnknown || time.Since(begun) != 30*time.Second {
				t.Errorf("got %+v after %v", a, time.Since(begun))
			}
		}
		if state := ts.Breakers()["membership"]; state != "open" {
			t.Errorf("breaker %s", state)
		}
		time.Sleep(time.Minute) // the target's own goroutines end
	})
}

func TestFailuresMustBeInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		ts := bubble(t, func() string {
			if n++; n%3 == 0 {
				return rawOK
			}
			return raw500
		})
		for range 30 {
			attempt(t, ts, call(), time.Second)
		}
		if state := ts.Breakers()["membership"]; state != "closed" {
			t.Errorf("breaker %s", state)
		}
	})
}

// A body that trickles for ever must not hold a caller once the status is known.
func TestASlowBodyHoldsACallerForSecondsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := bubble(t, func() string { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" })
		begun := time.Now()
		a := attempt(t, ts, call(), 30*time.Minute)
		if took := time.Since(begun); a.Kind != ledger.AnswerFresh || took > 5*time.Second {
			t.Errorf("got %+v after %v", a, took)
		}
	})
}

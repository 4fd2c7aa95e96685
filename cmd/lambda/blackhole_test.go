package main

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// blackHole stands between a function and its database. What goes into a line
// that it swallowed is never answered, and neither side is told.
type blackHole struct {
	to string

	mu    sync.Mutex
	slow  time.Duration // of each message that a new line passes to the database
	eats  bool          // new lines too
	lines []*line
}

type line struct {
	client, db net.Conn
	slow       time.Duration
	swallowed  chan struct{}
}

// newBlackHole returns it with the URL of the database through it.
func newBlackHole(t *testing.T, db string) (*blackHole, string) {
	t.Helper()
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &blackHole{to: u.Host}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { h.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		h.mu.Lock()
		for _, ln := range h.lines {
			_, _ = ln.client.Close(), ln.db.Close()
		}
		h.mu.Unlock()
		serving.Wait()
	})
	u.Host = l.Addr().String()
	return h, u.String()
}

func (h *blackHole) serve(c net.Conn) {
	db, err := net.Dial("tcp", h.to)
	if err != nil {
		_ = c.Close()
		return
	}
	h.mu.Lock()
	ln := &line{c, db, h.slow, make(chan struct{})}
	h.lines = append(h.lines, ln)
	if h.eats {
		close(ln.swallowed)
	}
	h.mu.Unlock()
	var ways sync.WaitGroup
	ways.Go(func() { ln.pass(db, c, ln.slow) })
	ways.Go(func() { ln.pass(c, db, 0) })
	ways.Wait()
}

// delay holds back each message to the database on the lines that come.
func (h *blackHole) delay(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slow = d
}

// pass copies until the line is swallowed.
func (l *line) pass(to, from net.Conn, after time.Duration) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-l.swallowed:
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if n > 0 {
			<-time.After(after)
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// swallow takes in all lines, and with also those to come.
func (h *blackHole) swallow(also bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.eats = also
	for _, ln := range h.lines {
		select {
		case <-ln.swallowed:
		default:
			close(ln.swallowed)
		}
	}
}

// through is a handler whose ledger is behind a black hole.
func through(t *testing.T) (*handler, *blackHole) {
	t.Helper()
	db := testdb.Postgres(t)
	migrated(t, db)
	hole, behind := newBlackHole(t, db)
	h, _ := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *"})
	h.useLedger(t, behind)
	return h, hole
}

// useLedger gives the handler a ledger, which is closed when the test ends.
func (h *handler) useLedger(t *testing.T, url string) {
	t.Helper()
	var err error
	if h.ledger, err = newDatabase(url, h.reg.Name()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if h.ledger.opened != nil {
			_ = h.ledger.opened.Close()
		}
	})
}

// inTime invokes the function, whose answer must come before its deadline.
func inTime(t *testing.T, h *handler, limit time.Duration, payload string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := h.Invoke(ctx, []byte(payload))
	if ctx.Err() != nil {
		t.Errorf("the answer to %s came after the deadline: %v", payload, err)
	}
	return err
}

// A database that goes silent must not hold an event beyond its time, whatever it
// was asked at that moment: the platform would kill the function.
func TestASilentDatabaseIsAnErrorInTime(t *testing.T) {
	for name, payload := range map[string]string{"event": releaseLike("minutely"), "tick": `{"tick":true}`} {
		t.Run("cold "+name, func(t *testing.T) {
			t.Parallel()
			h, hole := through(t)
			hole.swallow(true)
			if err := inTime(t, h, 6*time.Second, payload); errorType(err) != "cronce.LedgerUnavailable" {
				t.Errorf("the platform is told %s: %v", errorType(err), err)
			}
			hole.swallow(false)
			if err := inTime(t, h, time.Minute, payload); err != nil {
				t.Errorf("the database answers again: %v", err)
			}
		})
	}
	t.Run("in a call", func(t *testing.T) {
		t.Parallel()
		h, hole := through(t)
		h.caller = during(func() { hole.swallow(true) })
		if err := inTime(t, h, 6*time.Second, releaseLike("minutely")); errorType(err) != "cronce.LedgerUnavailable" {
			t.Errorf("the platform is told %s: %v", errorType(err), err)
		}
	})
}

// A gateway that forgets a connection while a call is under way costs the event
// a part of its time, and nothing else: the outcome goes over another one.
func TestAConnectionThatDiesInACallIsReplaced(t *testing.T) {
	t.Parallel()
	h, hole := through(t)
	h.caller = during(func() { hole.swallow(false) })
	if err := inTime(t, h, 20*time.Second, releaseLike("minutely")); err != nil {
		t.Error(err)
	}
}

// A database that takes two seconds for each message is slow and not lost: the run is
// made if the function has the time.
func TestASlowDatabaseIsWaitedFor(t *testing.T) {
	t.Parallel()
	h, hole := through(t)
	hole.delay(2 * time.Second)
	calls := 0
	h.caller = during(func() { calls++ })
	if err := inTime(t, h, time.Minute, `{"jobId":"minutely","id":"pay-7"}`); err != nil || calls != 1 {
		t.Errorf("%d calls: %v", calls, err)
	}
}

// A function that has no time for so slow a database says so.
func TestADatabaseThatIsTooSlowIsNamed(t *testing.T) {
	t.Parallel()
	h, hole := through(t)
	hole.delay(3 * time.Second)
	if err := inTime(t, h, 10*time.Second, releaseLike("minutely")); errorType(err) != "cronce.LedgerUnavailable" || !strings.Contains(err.Error(), "slow") {
		t.Errorf("the platform is told %s: %v", errorType(err), err)
	}
}

// during does something while the target works.
type during func()

func (d during) Call(context.Context, executor.Call) executor.Answer {
	d()
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

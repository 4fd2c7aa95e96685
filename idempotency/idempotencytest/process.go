//go:build unix

package idempotencytest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// Service is an engine as a service opens it, in this process or another.
type Service struct {
	// Fresh makes an empty database and returns its address.
	Fresh func(*testing.T) (address string)
	// Open opens the database at the address. All messages or statements that the
	// engine's Store sends must go through f.
	Open func(t *testing.T, address string, f *Fault) Engine
}

// RunFaults is the contract under faults: wherever a service's connection
// breaks, and wherever its process is killed, or stopped for longer than its
// MaxRun, one operation has one effect or none, and its key is free within the
// bound that the engine states. The test that calls it is run again as the
// other process.
func RunFaults(t *testing.T, s Service) {
	if text := os.Getenv(childVariable); text != "" {
		beChild(t, s, text)
		return
	}
	t.Run("a process killed at any boundary leaves all or nothing", func(t *testing.T) { killed(t, s) })
	t.Run("a process killed at any boundary of long work is replaced", func(t *testing.T) { killedWorker(t, s) })
	t.Run("a process stopped at any boundary frees its key", func(t *testing.T) { stopped(t, s) })
	t.Run("a process stopped or killed inside a statement frees its key", func(t *testing.T) { inside(t, s, inStatement) })
	t.Run("a process stopped or killed while it reads a result frees its key", func(t *testing.T) { inside(t, s, inResult) })
	t.Run("a connection that breaks at any message leaves all or nothing", func(t *testing.T) { broken(t, s) })
}

// child is what the other process is told: what to do, and what befalls it.
type child struct {
	Address string
	Key     string
	At      int64
	After   bool
	Inside  string // inStatement, inResult, or nothing
	Long    bool   // does long work
	Stops   bool   // and goes on when it is told to; else it is killed
	// MaxRun bounds its work, and so how long its key is taken once it is
	// stopped; 0: the kit's default.
	MaxRun time.Duration
}

const (
	childVariable = "IDEMPOTENCYTEST_CHILD"
	// firstMaxRun is that of a process that is to be stopped.
	firstMaxRun = time.Second

	inStatement = "statement"
	inResult    = "result"

	saysStopped  = "stopped"
	saysAnswered = "answered "
)

// beChild is the other process: a service that has one request.
func beChild(t *testing.T, s Service, text string) {
	var c child
	ok(t, json.Unmarshal([]byte(text), &c))
	f := &Fault{at: c.At, after: c.After, strike: func() bool {
		if !c.Stops {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		fmt.Println(saysStopped)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return true
	}}
	e := s.Open(t, c.Address, f)
	if c.Long {
		fmt.Println(saysAnswered + worked(t, e, c.Key))
		return
	}
	got := ordered(t, e, c.Key, func(ctx context.Context) error {
		switch c.Inside {
		case inStatement:
			f.next()
			return e.Sleep(ctx, 10*maxWait)
		case inResult:
			f.reads.Store(true)
			return e.ReadLarge(ctx)
		}
		return nil
	}, func(o *idempotency.Options) { o.MaxRun = c.MaxRun })
	fmt.Println(saysAnswered + got)
}

// order makes the request whose effect bears its key's name, and says what was
// answered: the status, and "true" after it for a replay.
func order(t *testing.T, e Engine, key string, change ...func(*idempotency.Options)) string {
	t.Helper()
	return ordered(t, e, key, func(context.Context) error { return nil }, change...)
}

// ordered is order with something that the handler does after its effect.
func ordered(t *testing.T, e Engine, key string, then func(context.Context) error, change ...func(*idempotency.Options)) string {
	t.Helper()
	w := post(kit(t, e.Store, change...).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := e.Write(r.Context(), key)
		if err == nil {
			err = then(r.Context())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})), key, `{}`)
	return strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Header().Get("Idempotent-Replayed")))
}

const (
	done     = "201"
	replayed = "201 true"
)

// repeated makes the request again after a fault: the one effect is there then, and what was
// answered before, if anything, was true.
func repeated(t *testing.T, e Engine, key, answered string) {
	t.Helper()
	again := order(t, e, key)
	if again != replayed && (again != done || strings.HasPrefix(answered, done)) {
		t.Errorf("%s: answered %q, and %q when asked again", key, answered, again)
	}
	if n := e.Written(key); n != 1 {
		t.Errorf("%s: %d effects", key, n)
	}
}

// boundaries counts the things that a service says for one request.
func boundaries(t *testing.T, s Service, address string) int64 {
	t.Helper()
	f := &Fault{at: -1}
	if got := order(t, s.Open(t, address, f), "undisturbed"); got != done {
		t.Fatalf("answered %q without a fault", got)
	}
	return f.said.Load()
}

func killed(t *testing.T, s Service) {
	address := s.Fresh(t)
	e := s.Open(t, address, nil)
	for n, at := boundaries(t, s, address), int64(1); at <= n; at++ {
		for _, after := range []bool{false, true} {
			c := child{Address: address, Key: fmt.Sprintf("killed-%d-%t", at, after), At: at, After: after}
			p := start(t, c)
			answered := p.next()
			if state := p.wait(); state != "signal: killed" {
				t.Fatalf("%s: the other process said %q and ended by %q", c.Key, answered, state)
			}
			repeated(t, e, c.Key, answered)
		}
	}
}

func stopped(t *testing.T, s Service) {
	address := s.Fresh(t)
	e := s.Open(t, address, nil)
	for n, at := boundaries(t, s, address), int64(1); at <= n; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			c := child{Address: address, Key: fmt.Sprint("stopped-", at), At: at, Stops: true}
			if e.OneWriter {
				stoppedWithTheLock(t, e, c)
				return
			}
			t.Parallel()
			p := stoppedAt(t, c)
			// As for any duplicate: the key is waited for.
			other := order(t, e, c.Key)
			p.goOn()
			own := p.answer()
			p.wait()
			if (own == done) == (other == done) || !strings.HasPrefix(other, done) {
				t.Errorf("the stopped process answered %q, the other one %q", own, other)
			}
			repeated(t, e, c.Key, done)
		})
	}
}

// stoppedAt is the other process, stopped at its boundary. A busy machine may
// take all of a short MaxRun to get there, and then the work was rolled back.
func stoppedAt(t *testing.T, c child) *process {
	t.Helper()
	for c.MaxRun = firstMaxRun; ; c.MaxRun *= 2 {
		p := start(t, c)
		said := p.next()
		if said == saysStopped {
			p.stop()
			return p
		}
		if p.wait(); !strings.HasPrefix(said, "50") || c.MaxRun > maxWait {
			t.Fatalf("the other process did not stop, it said %q", said)
		}
	}
}

// stoppedWithTheLock is for a store whose lock is its process's: others are
// told to come again until it goes on or ends.
func stoppedWithTheLock(t *testing.T, e Engine, c child) {
	for _, dies := range []bool{false, true} {
		c := c
		c.Key += fmt.Sprint("-", dies)
		p := stoppedAt(t, c)
		other := order(t, e, c.Key, wait(-1))
		if !slices.Contains([]string{done, replayed, "409", "503"}, other) {
			t.Errorf("%s: answered %q while the other process was stopped", c.Key, other)
		}
		own := ""
		if dies {
			p.kill()
		} else {
			p.goOn()
			own = p.answer()
		}
		p.wait()
		if own == done && other == done {
			t.Errorf("%s: both processes did the work", c.Key)
		}
		repeated(t, e, c.Key, max(own, other))
	}
}

// inside has a process stop, or die, while the server works for it. Nobody tells
// the server, which has to end that by itself.
func inside(t *testing.T, s Service, where string) {
	address := s.Fresh(t)
	e := s.Open(t, address, nil)
	if e.Sleep == nil {
		return // no server works for the process
	}
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint("dies=", dies), func(t *testing.T) {
			t.Parallel()
			c := child{Address: address, Key: fmt.Sprint("inside-", where, dies), Inside: where, Stops: true}
			p := stoppedAt(t, c)
			if dies {
				p.kill()
			}
			if other := order(t, e, c.Key); other != done {
				t.Errorf("another process answered %q", other)
			}
			if !dies {
				p.goOn()
				if own := p.answer(); !strings.HasPrefix(own, "50") {
					t.Errorf("the stopped process answered %q", own)
				}
			}
			p.wait()
			repeated(t, e, c.Key, done)
		})
	}
}

func broken(t *testing.T, s Service) {
	address := s.Fresh(t)
	e := s.Open(t, address, nil)
	if e.OneWriter {
		t.Skip("this store has no connections")
	}
	for n, at := boundaries(t, s, address), int64(1); at <= n; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d-%t", at, after), func(t *testing.T) {
				f := &Fault{at: at, after: after, strike: func() bool { return false }}
				key := fmt.Sprintf("broken-%d-%t", at, after)
				answered := order(t, s.Open(t, address, f), key)
				if !f.struck() {
					t.Error("the request did not come as far as the fault")
				}
				repeated(t, e, key, answered)
			})
		}
	}
}

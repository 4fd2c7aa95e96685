package retention_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/targets"
)

// lifecycles is the number of lifecycles that the property below is tried on.
const lifecycles = 40

// The executor, the ledger, the HTTP caller with its breaker, and the kit are
// the real ones. Answers are lost, calls are long on their way, processes die
// and come back, an operator redrives what is dead, and a platform that has the
// same call makes it again whenever it may.
func TestNoCallThatTheKitAcceptsMeetsAForgottenKey(t *testing.T) {
	for _, tc := range []struct {
		rule   string
		ttl    func(horizon time.Duration) time.Duration
		proven bool
	}{
		{"the least TTL that the proof accepts", func(h time.Duration) time.Duration { return h + jobs.MaxClockSkew + 1 }, true},
		{"a TTL a little under the horizon, which it refuses", func(h time.Duration) time.Duration { return h * 9 / 10 }, false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			doubled, sent, repeated := 0, 0, 0
			for seed := range uint64(lifecycles) {
				synctest.Test(t, func(t *testing.T) {
					l := newLifecycle(t, seed, tc.ttl)
					if proven := len(retention.Prove(l.registry)) == 0; proven != tc.proven {
						t.Fatalf("proven: %t", proven)
					}
					l.run()
					if n := l.keys.doubled(); n > 0 && tc.proven {
						t.Errorf("seed %d: %d keys had more than one effect", seed, n)
					} else {
						doubled += n
					}
					sent += int(l.calls.Load())
					if l.calls.Load() > 1 {
						repeated++
					}
				})
			}
			if repeated < lifecycles/2 {
				t.Errorf("%d calls, and only %d of %d lives repeat one: they try nothing", sent, repeated, lifecycles)
			}
			if !tc.proven && doubled == 0 {
				t.Errorf("no life of %d doubles an effect: the lives are too gentle to show what the proof is for", lifecycles)
			}
		})
	}
}

// lifecycle is one night of one job, in virtual time.
type lifecycle struct {
	*testing.T
	horizon  time.Duration
	registry *jobs.Registry
	ledger   *memory.Ledger
	keys     *keyTable
	caller   *targets.Targets
	listener pipes
	tasks    sync.WaitGroup
	end      time.Time

	onTheirWay sync.WaitGroup // requests that the network has

	calls  atomic.Int64 // that reached the kit
	latest atomic.Pointer[executor.Call]

	mu   sync.Mutex
	dice *rand.Rand
}

func newLifecycle(t *testing.T, seed uint64, ttl func(time.Duration) time.Duration) *lifecycle {
	l := &lifecycle{T: t, ledger: memory.New(), dice: rand.New(rand.NewPCG(seed, 6)), listener: make(pipes)}
	l.horizon = []time.Duration{20 * time.Minute, time.Hour, 3 * time.Hour}[l.roll(3)]
	l.keys = newKeyTable(func() time.Duration { return l.upTo(jobs.MaxClockSkew) - jobs.MaxClockSkew/2 })
	lives := ttl(l.horizon)
	l.registry = registry(t, jobs.KeyTTL{Scope: payments, TTL: lives}, jobs.Cleanup{DisabledBecause: "the life purges"}, job(func(j *jobs.Job) {
		j.Timeout = time.Second + l.upTo(30*time.Second)
		j.Retry.Horizon = l.horizon
		for range 1 + l.roll(8) {
			j.Retry.Backoff = append(j.Retry.Backoff, l.upTo(min(time.Hour, l.horizon/2)))
		}
	}))
	kit, err := idempotency.New(l.keys, idempotency.Options{
		Principal: idempotency.SinglePrincipal("cronce"), TTL: lives, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l.serve(kit.Handler(idempotency.Route{Scope: payments}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	l.caller, err = targets.New(targets.Config{
		Registry: l.registry, Lookup: func(string) (string, bool) { return "http://127.0.0.1", true },
		Dial: l.listener.dial, BreakerFailures: 1 + l.roll(4), BreakerOpenFor: time.Second + l.upTo(l.horizon/4),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lifecycle) roll(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dice.IntN(n)
}

func (l *lifecycle) upTo(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.dice.Int64N(int64(d) + 1))
}

// run goes from just before the job's scheduled time until nothing can be sent any
// more, and longer than any key lives.
func (l *lifecycle) run() {
	day := time.Now().Truncate(24 * time.Hour)
	time.Sleep(time.Until(day.Add(3*time.Hour - time.Minute)))
	l.end = time.Now().Add(l.horizon + 10*time.Minute)
	l.tasks.Go(l.processes)
	l.tasks.Go(l.operator)
	l.tasks.Go(l.platform)
	l.tasks.Go(func() { l.until(time.Minute, l.keys.purge) })
	l.tasks.Wait()
	l.caller.Close()
	synctest.Wait()
	l.onTheirWay.Wait()
	close(l.listener)
}

// until calls do again and again until the end, at random intervals of at most twice
// every.
func (l *lifecycle) until(every time.Duration, do func()) {
	for {
		time.Sleep(1 + l.upTo(2*every))
		if !time.Now().Before(l.end) {
			return
		}
		do()
	}
}

// processes are executors, one after the other: each is killed, and what it
// had under way is left to itself.
func (l *lifecycle) processes() {
	for time.Now().Before(l.end) {
		p := &mortal{Ledger: l.ledger, life: l}
		e, err := executor.New(executor.Config{Registry: l.registry, Ledger: p, Caller: p, Grace: time.Millisecond, Lease: 10 * time.Second})
		if err != nil {
			l.Error(err)
			return
		}
		ctx, kill := context.WithCancel(l.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = e.Run(ctx) }()
		time.Sleep(min(max(0, time.Until(l.end)), time.Minute+l.upTo(l.horizon/2)))
		p.dead.Store(true)
		kill()
		<-ended
	}
}

func (l *lifecycle) operator() {
	l.until(l.horizon/20, func() {
		if _, err := l.ledger.Redrive(l.Context(), ledger.Action{Filter: ledger.Filter{JobID: "pay"}, Actor: ledger.Actor{By: "ann", Why: "again"}, Force: true}); err != nil {
			l.Error(err)
		}
	})
}

// platform has the call that was made first, and makes it again while it may.
func (l *lifecycle) platform() {
	l.until(l.horizon/10, func() {
		if c := l.latest.Load(); c != nil && time.Now().Before(c.SendBefore) {
			ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
			defer cancel()
			l.caller.Call(ctx, *c)
		}
	})
}

// mortal is a process's way to the ledger and to its target. Once it is dead,
// nothing goes through.
type mortal struct {
	executor.Ledger
	life *lifecycle
	dead atomic.Bool
}

func (m *mortal) Call(ctx context.Context, c executor.Call) executor.Answer {
	m.life.latest.CompareAndSwap(nil, &c)
	return m.life.caller.Call(ctx, c)
}

func (m *mortal) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if m.dead.Load() {
		return nil, ledger.ErrUnavailable
	}
	return m.Ledger.Record(ctx, o)
}

func (m *mortal) Deregister(ctx context.Context, id string) error {
	if m.dead.Load() {
		return ledger.ErrUnavailable
	}
	return m.Ledger.Deregister(ctx, id)
}

// serve puts a network before the kit on which requests are long on their way
// and answers are lost.
func (l *lifecycle) serve(kit http.Handler) {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.onTheirWay.Add(1)
		defer l.onTheirWay.Done()
		body, _ := io.ReadAll(r.Body)
		way := time.Duration(0)
		if l.roll(4) == 0 {
			way = l.upTo(l.horizon)
		}
		lost := l.roll(4) > 0
		time.Sleep(way)
		l.calls.Add(1)
		r.Body = io.NopCloser(bytes.NewReader(body))
		kit.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
		if lost {
			panic(http.ErrAbortHandler)
		}
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go func() { _ = server.Serve(l.listener) }()
}

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p <- far
	return near, nil
}

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

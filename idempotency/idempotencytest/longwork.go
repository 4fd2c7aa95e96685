package idempotencytest

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// longProcess is one process with a handler for long work, which the test conducts.
type longProcess struct {
	http.Handler
	t       *testing.T
	kit     *idempotency.Kit
	started atomic.Int32
	steps   chan longStep
}

type longStep struct {
	do   func(context.Context, *idempotency.Work) error
	last bool // its error is the work's
	err  chan error
}

func longWork(t *testing.T, s store.Store, change ...func(*idempotency.Options)) *longProcess {
	p := &longProcess{t: t, kit: kit(t, s, change...), steps: make(chan longStep)}
	p.Handler = p.kit.Accept(route, p.work)
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.kit.Shutdown(over)
	})
	return p
}

// working is a process whose work under the key "k" goes on, and another process.
func working(t *testing.T, e Engine) (p, other *longProcess) {
	t.Helper()
	p, other = longWork(t, e.Store), longWork(t, e.Other)
	expect(t, post(p, "k", `{}`), http.StatusAccepted, "", false)
	return p, other
}

func (p *longProcess) work(ctx context.Context, w *idempotency.Work) error {
	p.started.Add(1)
	for {
		select {
		case s := <-p.steps:
			err := s.do(ctx, w)
			s.err <- err
			if s.last {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// step has the work do something and returns how that went.
func (p *longProcess) step(do func(context.Context, *idempotency.Work) error) error {
	p.t.Helper()
	return p.send(longStep{do: do})
}

// end has the work return.
func (p *longProcess) end(do func(context.Context, *idempotency.Work) error) error {
	p.t.Helper()
	return p.send(longStep{do: do, last: true})
}

func (p *longProcess) send(s longStep) error {
	p.t.Helper()
	s.err = make(chan error, 1)
	tooLong := time.After(maxWait)
	select {
	case p.steps <- s:
	case <-tooLong:
		p.t.Fatal("no work is running")
	}
	select {
	case err := <-s.err:
		return err
	case <-tooLong:
		p.t.Fatal("the work is stuck")
		return nil
	}
}

// until asks again until the answer has this status, and more holds.
func (p *longProcess) until(status int, more func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(maxWait); ; time.Sleep(time.Millisecond) {
		w := post(p, "k", `{}`)
		if w.Code == status && (more == nil || more()) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("still answered %d %s", w.Code, w.Body)
		}
	}
}

// lease is that of these processes.
const lease = time.Minute

// finish makes the effect "paid" and the reply "paid".
func finish(e Engine) func(context.Context, *idempotency.Work) error {
	return func(ctx context.Context, w *idempotency.Work) error {
		return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
			if err := e.Write(ctx, "paid"); err != nil {
				return idempotency.Reply{}, err
			}
			return idempotency.JSONReply(http.StatusCreated, "paid")
		})
	}
}

func progress(state any) func(context.Context, *idempotency.Work) error {
	return func(ctx context.Context, w *idempotency.Work) error { return w.Progress(ctx, state) }
}

const longDay = 24 * time.Hour

func started(t *testing.T, want int32, p *longProcess) {
	t.Helper()
	if got := p.started.Load(); got != want {
		t.Errorf("the work was started %d times, want %d", got, want)
	}
}

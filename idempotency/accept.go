package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// Accept returns a handler for work that takes longer than a caller waits. It answers the
// first request with a key 202 Accepted at once, and then runs fn in this process. While
// fn runs, a repetition of the request gets 202 with Retry-After (see [Route]) and the
// work's progress. Once the work is finished, it gets the reply. GET, HEAD, OPTIONS and
// TRACE are answered 405.
//
//	{"progress": {"done": 1200, "of": 5000}}
//
// The context of fn outlives the request, and MaxRun does not apply to it. fn must call
// [Work.Progress] at least once per lease. It commits its effect and its reply with
// [Work.Finish]. If it returns without Finish, its result decides:
//
//   - nil: the work is done, and the reply is 204.
//   - a [Final] error: the work has failed for good. The reply is 422.
//   - another error, or a panic: the key is free, and the next request starts
//     the work again.
//
// If the process dies, the first request after the end of the lease starts the work
// again, in the process that receives it. [Work.Previous] has the progress of the dead
// worker. What fn commits outside Finish may then be repeated.
//
// Call [Kit.Shutdown] before the process ends. Only Accept and DoLong can take over an
// accepted key. In Handler, Do and Call with the same scope it is in progress, even if its
// worker is dead, until it expires (the lease plus the TTL).
func (k *Kit) Accept(route Route, fn func(context.Context, *Work) error) http.Handler {
	set(&route.Poll, 10*time.Second)
	return &accepter{&handler{kit: k, route: route}, fn}
}

type accepter struct {
	*handler
	fn func(context.Context, *Work) error
}

func (a *accepter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		w.Header().Set("Allow", "POST, PUT, PATCH, DELETE")
		http.Error(w, "Send this request with a method that changes something, and an Idempotency-Key.", http.StatusMethodNotAllowed)
		return
	}
	c, body, bad := a.claim(w, r)
	if bad != nil {
		a.refuse(w, r, c.Key, *bad, errors.New(bad.Detail))
		return
	}
	set(&c.Lease, a.route.Lease)
	set(&c.Lease, a.kit.opt.Lease)
	ctx := context.WithoutCancel(r.Context())
	started, status, d, err := a.kit.accept(r.Context(), ctx, c)
	switch {
	case err != nil:
	case d == replay:
		sendReplay(w, r, status.Record.Reply)
		return
	case d == accepted:
		a.sendProgress(w, status.Record.Body)
		return
	case d != doWork:
		_, _, err = d.answer(status)
	}
	if err != nil {
		a.refuse(w, r, c.Key, a.kit.problemOf(err), err)
		return
	}
	started.work.request = inner(started.ctx, r, body)
	go a.run(started)
	a.sendProgress(w, started.work.previous)
}

// sendProgress answers that the work goes on.
func (a *accepter) sendProgress(w http.ResponseWriter, progress []byte) {
	if len(progress) == 0 {
		progress = []byte("null")
	}
	body, err := json.Marshal(map[string]json.RawMessage{"progress": progress})
	if err != nil { // the row was not written by a kit
		body = []byte(`{"progress":null}`)
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(a.route.Poll.Seconds()))))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	w.Write(body)
}

// run does the work after its request was answered.
func (a *accepter) run(s started) {
	k := s.work.claim.Key
	log := a.kit.opt.Logger.With("scope", k.Scope, "principal", k.Principal, "key", k.Value)
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(s.ctx, "long work panicked", "restartsOnNextRequest", s.work.is(working), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	err := s.run(a.fn, func(final *FinalError) (Reply, error) {
		body, err := json.Marshal(problem(http.StatusUnprocessableEntity, CodeFailed, "The operation failed", final.Message))
		return Reply{Status: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/problem+json"}}, Body: body}, err
	})
	if err != nil && !isFinal(err) {
		log.ErrorContext(s.ctx, "long work failed", "restartsOnNextRequest", s.work.is(working), "error", err)
	}
}

// DoLong is like [Do] for work that takes longer than MaxRun. It runs fn under a lease on
// the key, as [Kit.Accept] does, and returns when fn has returned. It is for events:
// acknowledge the event if DoLong returns nil or a [FinalError]. A second delivery during
// the work gets [ErrInProgress]. One after the death of the worker starts the work again.
// The end of ctx ends the work.
func (k *Kit) DoLong(ctx context.Context, op Operation, fn func(context.Context, *Work) error) (duplicate bool, err error) {
	c, err := k.operation(op)
	if err != nil {
		return false, err
	}
	if k.store.InTransaction(ctx) {
		return false, errors.New("idempotency: DoLong in a transaction would hold it for as long as the work lasts; call it outside")
	}
	set(&c.Lease, k.opt.Lease)
	started, status, d, err := k.accept(ctx, ctx, c)
	if err != nil {
		return false, err
	}
	if d != doWork {
		r, duplicate, err := d.answer(status)
		if err == nil && r.Status == finalStatus {
			_, duplicate, err = decodedFinal[any](r, duplicate)
		}
		return duplicate, err
	}
	return false, started.run(fn, func(final *FinalError) (Reply, error) {
		r, _, err := k.finalReply(final, nil)
		return r, err
	})
}

// started is work that holds its key.
type started struct {
	work *Work
	ctx  context.Context // the work's, on its way from the request to the goroutine
}

// accept takes the key for long work that runs on ctx. Unless the decision is
// doWork the status says what the key is.
func (k *Kit) accept(asking, ctx context.Context, c store.Claim) (s started, status store.KeyStatus, d decision, err error) {
	store, ok := k.store.(store.Worker)
	if !ok {
		return s, status, d, fmt.Errorf("idempotency: long work needs a store that can lease keys; %T cannot", k.store)
	}
	if err := c.Key.Validate(); err != nil {
		return s, status, d, err
	}
	if status, err = k.lookup(asking, c); err != nil || status.Record != nil && decideLong(status, c) != doWork {
		return s, status, decideLong(status, c), err
	}
	w := &Work{kit: k, store: store, claim: c, exchange: make(chan struct{}, 1)}
	ctx, w.cancel = context.WithCancelCause(ctx)
	if !k.works.add(w) {
		w.cancel(nil)
		return s, status, d, ErrShutdown
	}
	asked := time.Now() // before the store counts from it
	within, cancel := k.exchange(context.WithoutCancel(asking))
	defer cancel()
	status, err = store.Accept(within, c)
	if err != nil || !status.Held {
		if err != nil {
			w.free() // the answer may be lost, and the key ours
		}
		k.works.remove(w)
		if d = decideLong(status, c); d == doWork { // it was free only for a moment
			d = inFlight
		}
		return s, status, d, explain(within, err)
	}
	if status.Record != nil {
		w.previous, w.last = status.Record.Body, status.Record.Body
	}
	w.lapse = time.AfterFunc(time.Until(asked.Add(c.Lease)), func() { w.cancel(ErrLeaseLost) })
	return started{w, ctx}, status, doWork, nil
}

// run runs fn and finishes what it leaves unfinished.
func (s started) run(fn func(context.Context, *Work) error, failed func(*FinalError) (Reply, error)) (err error) {
	w := s.work
	defer func() {
		if w.is(working) {
			w.free()
		}
		w.lapse.Stop()
		w.kit.works.remove(w)
	}()
	err = fn(s.ctx, w)
	if !w.is(working) {
		return err
	}
	end := context.WithoutCancel(s.ctx)
	if final := (*FinalError)(nil); errors.As(err, &final) {
		if lost := w.Finish(end, func(context.Context) (Reply, error) { return failed(final) }); lost != nil {
			return fmt.Errorf("%w; not kept: %s", lost, err.Error()) // not a FinalError: a caller would acknowledge the event
		}
		return err
	}
	if err == nil {
		err = w.Finish(end, func(context.Context) (Reply, error) { return Reply{Status: http.StatusNoContent}, nil })
	}
	return err
}

// free gives the key up. If that fails the lease ends by itself.
func (w *Work) free() {
	ctx, cancel := w.kit.ending(context.Background())
	defer cancel()
	_, _ = w.store.Abandon(ctx, w.claim)
}

package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/cronce/cronce/idempotency/internal/pause"
	"github.com/cronce/cronce/idempotency/store"
)

// Work is one piece of long work: work that outlasts the call that started it.
// It holds its key under a lease of [Options.Lease], which each [Work.Progress]
// renews. A worker that stops renewing loses the key: its context ends with the
// cause [ErrLeaseLost], the next request starts the work again, and only the
// worker that has the key then can [Work.Finish].
//
// A Work is safe for concurrent use.
type Work struct {
	kit      *Kit
	store    store.Worker
	claim    store.Claim
	request  *http.Request
	previous json.RawMessage
	cancel   context.CancelCauseFunc
	lapse    *time.Timer // ends the context when the lease ends

	exchange chan struct{} // holds a token during an exchange with the store

	mu      sync.Mutex
	state   workState
	renewed time.Time // when the lease was last renewed; zero: not since the key was taken
	last    []byte    // the progress that is stored
}

// workState is the state of a piece of long work in this process.
type workState int

const (
	working  workState = iota
	finished           // Finish has committed, or fn has ended its transaction
	lost               // this worker does not have the key any more
)

// Key returns the key that the work holds.
func (w *Work) Key() Key { return w.claim.Key }

// Request returns the request that started the work, with its whole body to
// read; nil in [Kit.DoLong].
func (w *Work) Request() *http.Request { return w.request }

// Previous decodes the last progress of an earlier worker that lost the key into
// v, so that the work can go on from there. It returns false when there is none: no
// worker lost the key, or the last one gave it up, since it returned an error or
// [Kit.Shutdown] ended it.
func (w *Work) Previous(v any) (bool, error) {
	if len(w.previous) == 0 {
		return false, nil
	}
	if err := json.Unmarshal(w.previous, v); err != nil {
		return false, fmt.Errorf("the previous worker's progress does not fit the type: %w", err)
	}
	return true, nil
}

// renewals is how often a lease is renewed at most while it lasts.
const renewals = 20

// Progress renews the lease and stores state, as JSON, for later requests. Call it
// as often as you like, and at least a few times per lease: it writes at most
// twenty times per lease and skips what comes sooner. It returns [ErrLeaseLost]
// when the worker has lost the key, and [ErrUnavailable] when the store gave no
// answer; the lease then goes on until its end.
func (w *Work) Progress(ctx context.Context, state any) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("the progress cannot be stored as JSON: %w", err)
	}
	if most := w.kit.opt.MaxStoredBody; len(text) > most {
		return fmt.Errorf("%w: the progress has %d bytes of JSON, more than MaxStoredBody (%d)", ErrReplyTooLarge, len(text), most)
	}
	select {
	case w.exchange <- struct{}{}:
		defer func() { <-w.exchange }()
	default: // another Progress or Finish renews it
		return w.err()
	}
	if err := w.err(); err != nil || w.fresh() {
		return err
	}
	return w.renew(ctx, w.claim.Lease, text)
}

func (w *Work) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != working {
		return ErrLeaseLost
	}
	return nil
}

func (w *Work) fresh() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.renewed.IsZero() && time.Since(w.renewed) < w.claim.Lease/renewals
}

// renew extends the lease. The caller has the exchange.
func (w *Work) renew(ctx context.Context, lease time.Duration, progress []byte) error {
	asked := time.Now()
	c := w.claim
	c.Lease = lease
	within, cancel := w.kit.exchange(ctx)
	defer cancel()
	held, err := w.store.Renew(within, c, progress)
	if err != nil {
		return explain(within, err)
	}
	if !held {
		return w.lose(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewed, w.last = asked, progress
	w.lapse.Reset(time.Until(asked.Add(lease)))
	return nil
}

// lose ends the work of a worker that does not have the key any more. It returns
// nil if that is because it has finished: the answer to its commit was lost.
func (w *Work) lose(ctx context.Context) error {
	status, err := w.kit.lookup(ctx, w.claim)
	if err != nil {
		return err
	}
	if r := status.Record; r != nil && r.Owner == w.claim.Owner && (r.State == store.StateDone || r.State == store.StateOmitted) {
		w.setState(finished)
		return nil
	}
	w.setState(lost)
	w.cancel(ErrLeaseLost)
	return ErrLeaseLost
}

func (w *Work) setState(s workState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
}

func (w *Work) is(s workState) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state == s
}

// Finish runs fn in a transaction, which fn gets through the engine's accessor,
// and commits its writes, the reply and the key together. Every request with the
// key gets the reply from then on; a zero status means 200. MaxRun bounds fn; the
// lease is extended over it first.
//
// An error of fn rolls its writes back, and Finish can be called again. Finish
// returns [ErrLeaseLost] if another worker has the key: nothing is committed
// then. After [ErrUnavailable] call it again: it finds out whether the commit
// happened, and fn may run again only if it did not.
func (w *Work) Finish(ctx context.Context, fn func(context.Context) (Reply, error)) error {
	select {
	case w.exchange <- struct{}{}:
		defer func() { <-w.exchange }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for conflicts := 1; ; conflicts++ {
		err := w.finish(ctx, fn)
		if !errors.Is(err, ErrConflict) || conflicts == maxConflicts || !pause.For(ctx, rand.N(maxPause)) {
			return err
		}
	}
}

func (w *Work) finish(ctx context.Context, fn func(context.Context) (Reply, error)) error {
	if err := w.err(); err != nil {
		return err
	}
	w.mu.Lock()
	progress := w.last
	w.mu.Unlock()
	lease := max(w.claim.Lease, w.claim.MaxRun+3*w.kit.opt.StoreTimeout)
	if err := w.renew(ctx, lease, progress); err != nil || w.is(finished) {
		return err
	}
	tx, held, err := w.resume(ctx)
	if err == nil && !held {
		err = w.lose(ctx)
	}
	if err != nil || !held {
		return err
	}
	_, _, err = w.kit.run(ctx, tx, w.claim, func(ctx context.Context) (Reply, Disposition, error) {
		r, err := fn(ctx)
		if err == nil {
			r, err = w.kit.final(r)
		}
		return r, Commit, err
	}, w.record)
	if errors.Is(err, store.ErrLostRace) && !errors.Is(err, ErrTxEnded) {
		return w.lose(ctx)
	}
	if err == nil {
		w.setState(finished)
	}
	return err
}

// record stores the reply of work that ended its transaction itself. If another worker has
// the key by now, it is that worker's.
func (w *Work) record(ctx context.Context, c store.Claim, r Reply) (Reply, bool, error) {
	w.setState(finished)
	tx, held, err := w.resume(ctx)
	if err == nil && held {
		_, err = tx.Commit(ctx, c, r)
	}
	return r, false, err
}

func (w *Work) resume(ctx context.Context) (store.Tx, bool, error) {
	ctx, cancel := w.kit.exchange(ctx)
	defer cancel()
	tx, held, err := w.store.Resume(ctx, w.claim)
	return tx, held, explain(ctx, err)
}

// final is the reply of long work as it is stored. One that is too large fails
// the work: no caller would ever get it.
func (k *Kit) final(r Reply) (Reply, error) {
	set(&r.Status, http.StatusOK)
	if r.Status < 200 || r.Status > 599 || r.Status == http.StatusAccepted {
		return r, fmt.Errorf("the reply of long work has the status %d; use one from 200 to 599 that is not 202", r.Status)
	}
	if len(r.Body) > k.opt.MaxStoredBody {
		return r, fmt.Errorf("%w: it has %d bytes, more than MaxStoredBody (%d); return less, or a reference",
			ErrReplyTooLarge, len(r.Body), k.opt.MaxStoredBody)
	}
	return Reply{Status: r.Status, Header: storedHeader(r.Header, k.replayable), Body: r.Body}, nil
}

// JSONReply returns a reply with a value, encoded as JSON, as its body.
func JSONReply(status int, value any) (Reply, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return Reply{}, fmt.Errorf("the reply cannot be written as JSON: %w", err)
	}
	return Reply{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
}

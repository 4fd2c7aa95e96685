package idempotency

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/cronce/cronce/idempotency/internal/pause"
	"github.com/cronce/cronce/idempotency/store"
)

// Disposition is what the kit does with the work of a handler that has returned.
type Disposition int

const (
	// Commit stores the reply and commits the work with it.
	Commit Disposition = iota
	// StoreReply rolls the work back and stores the reply.
	StoreReply
	// Release rolls the work back and leaves the key free.
	Release
)

// workInTx runs inside the transaction that its context carries.
type workInTx func(context.Context) (Reply, Disposition, error)

// attempt tries to take a key. do is what follows if the status says so; drop
// ends the attempt otherwise.
type attempt struct {
	status store.KeyStatus
	do     func() (r Reply, replayed bool, err error)
	drop   func()
}

// once does the work in a transaction unless the key says otherwise. replayed:
// the reply is a stored one. Waiting is bounded by Options.Wait and by ctx; the
// work only by the claim's MaxRun.
func (k *Kit) once(ctx context.Context, c store.Claim, w workInTx) (r Reply, replayed bool, err error) {
	return k.claimOrWait(ctx, c, func() (attempt, error) {
		tx, status, err := k.begin(ctx, c)
		if err != nil {
			return attempt{}, err
		}
		return attempt{status,
			func() (Reply, bool, error) { return k.run(ctx, tx, c, w, k.recordAlone) },
			func() { _ = tx.Rollback(ctx) },
		}, nil
	})
}

// claimOrWait is the loop of every entry point. For each key one caller of this process tries to
// take it, and the others wait for that caller. After a lost race each caller decides again.
func (k *Kit) claimOrWait(ctx context.Context, c store.Claim, try func() (attempt, error)) (r Reply, replayed bool, err error) {
	if err := c.Key.Validate(); err != nil {
		return Reply{}, false, err
	}
	until := time.Now().Add(k.opt.Wait)
	due := until.Add(c.MaxRun + 3*k.opt.StoreTimeout) // a last try, the work, its end, and a look at what came of it
	for {
		q, turn := k.gate.enter(ctx, c.Key, until, due)
		switch turn {
		case timedOut:
			return k.lookupAfterTimeout(ctx, c)
		case leader:
			return k.lead(ctx, until, c, q, try)
		case lookup:
			if err := k.lookupForWaiters(ctx, c, q); err != nil {
				return Reply{}, false, err
			}
		}
		status := store.KeyStatus{Record: q.found}
		if d := decide(status, c); d == replay || d == mismatch {
			return d.answer(status)
		}
	}
}

// lookupForWaiters looks the key up once for all callers that waited for its leader. Their
// calls began before, so the committed record that it finds is what each would find itself.
// Each waiter compares the record with its own payload. If the look-up fails, one caller gets
// the error, and another looks up again.
func (k *Kit) lookupForWaiters(ctx context.Context, c store.Claim, q *keyQueue) (err error) {
	var status store.KeyStatus
	ok := false
	defer func() { k.gate.share(q, status.Record, ok) }()
	status, err = k.lookup(ctx, c)
	ok = err == nil
	return err
}

// lookupAfterTimeout is for a call that has waited long enough for another of this
// process: that one may only be reading what is stored.
func (k *Kit) lookupAfterTimeout(ctx context.Context, c store.Claim) (Reply, bool, error) {
	status, err := k.lookup(ctx, c)
	if err == nil && status.Record != nil {
		return decide(status, c).answer(status)
	}
	return Reply{}, false, stopped(ctx)
}

// lead tries until the key is ours, answered, or the wait is over.
func (k *Kit) lead(ctx context.Context, until time.Time, c store.Claim, q *keyQueue, try func() (attempt, error)) (Reply, bool, error) {
	known := false
	defer func() { k.gate.leave(q, known) }()
	conflicts := 0
	for again := firstPause; ; again = min(2*again, maxPause) {
		a, err := try()
		if err != nil {
			return Reply{}, false, err
		}
		d := decide(a.status, c)
		if d == doWork {
			r, replayed, err := a.do()
			if conflicts++; errors.Is(err, ErrConflict) && conflicts < maxConflicts && pause.For(ctx, rand.N(again)) {
				continue
			}
			known = err == nil && !r.ExpiresAt.IsZero()
			return r, replayed, err
		}
		a.drop()
		if d != inFlight {
			known = d == replay || d == mismatch
			return d.answer(a.status)
		}
		if !sleep(ctx, until, again) {
			return Reply{}, false, stopped(ctx)
		}
	}
}

// recorder stores a reply in a transaction without work.
type recorder func(context.Context, store.Claim, Reply) (Reply, bool, error)

// run does the work in the transaction and ends it. A panic of the work goes
// through, after the rollback. If the work has ended the transaction itself, run uses
// the key up with record.
func (k *Kit) run(ctx context.Context, tx store.Tx, c store.Claim, w workInTx, record recorder) (r Reply, replayed bool, err error) {
	// The caller may hang up; the work goes on.
	running, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.MaxRun)
	defer cancel()
	panics := true
	defer func() {
		if panics {
			_ = k.rollback(ctx, tx, c, record)
		}
	}()
	r, then, err := w(tx.Context(running))
	panics = false
	if err == nil && running.Err() != nil {
		err = ErrRunTooLong
	}
	if err != nil || then != Commit {
		failed := k.rollback(ctx, tx, c, record)
		if err = errors.Join(failed, err); err != nil || then == Release {
			return r, false, err
		}
	}
	end, cancel := k.ending(ctx)
	defer cancel()
	if then == StoreReply {
		return k.recordAlone(end, c, r)
	}
	r.ExpiresAt, err = tx.Commit(end, c, r)
	switch {
	case errors.Is(err, ErrTxEnded):
		err = errors.Join(err, k.useUp(c, record))
	case err != nil:
		return k.afterFailedCommit(end, c, r, err)
	}
	return r, false, err
}

// rollback undoes the work. If the work has ended its transaction itself, its effects
// may be committed, so that the key is used up, as after a commit that found this.
func (k *Kit) rollback(ctx context.Context, tx store.Tx, c store.Claim, record recorder) error {
	end, cancel := k.ending(ctx)
	defer cancel()
	err := tx.Rollback(end)
	if errors.Is(err, ErrTxEnded) {
		err = errors.Join(err, k.useUp(c, record))
	}
	return err
}

// useUp records that the outcome of the key's work is unknown, in a transaction
// of its own: one that the context carries has been ended. It tries again while
// the store is unavailable: the work's connection may be back in the pool, and
// broken.
func (k *Kit) useUp(c store.Claim, record recorder) error {
	ctx, cancel := k.ending(context.Background())
	defer cancel()
	for again := firstPause; ; again = min(2*again, maxPause) {
		_, _, err := record(ctx, c, Reply{Status: http.StatusInternalServerError, Omitted: true})
		if !errors.Is(err, ErrUnavailable) || !pause.For(ctx, again) {
			return err
		}
	}
}

// recordAlone stores a reply whose work was rolled back. Between the two the
// key was free: if another call has it by now, that one's reply counts.
func (k *Kit) recordAlone(ctx context.Context, c store.Claim, r Reply) (Reply, bool, error) {
	tx, status, err := k.begin(ctx, c)
	if err != nil {
		return r, false, err
	}
	if d := decide(status, c); d != doWork && d != tooLate {
		_ = tx.Rollback(ctx)
		return d.answer(status)
	}
	if r.ExpiresAt, err = tx.Commit(ctx, c, r); err != nil && !errors.Is(err, ErrTxEnded) {
		return k.afterFailedCommit(ctx, c, r, err)
	}
	return r, false, err
}

// afterFailedCommit looks the key up: the answer to a commit may be lost, and its record
// then has the claim's owner.
func (k *Kit) afterFailedCommit(ctx context.Context, c store.Claim, r Reply, cause error) (Reply, bool, error) {
	if errors.Is(cause, ErrConflict) {
		return r, false, cause
	}
	status, err := k.lookup(ctx, c)
	if err != nil || status.Record == nil {
		return r, false, cause
	}
	if status.Record.Owner == c.Owner {
		if status.Record.State == store.StateAccepted { // long work whose commit did not happen
			return r, false, cause
		}
		r.ExpiresAt = status.Record.ExpiresAt
		return r, false, nil
	}
	return decide(status, c).answer(status)
}

func (k *Kit) begin(ctx context.Context, c store.Claim) (tx store.Tx, status store.KeyStatus, err error) {
	ctx, cancel := k.exchange(ctx)
	defer cancel()
	tx, status, err = k.store.Begin(ctx, c)
	return tx, status, explain(ctx, err)
}

func (k *Kit) lookup(ctx context.Context, c store.Claim) (status store.KeyStatus, err error) {
	ctx, cancel := k.exchange(ctx)
	defer cancel()
	status, err = k.store.Lookup(ctx, c)
	return status, explain(ctx, err)
}

// errNoAnswer is the cause of an exchange's end at the store's timeout.
var errNoAnswer = fmt.Errorf("no answer within the store's timeout: %w", context.DeadlineExceeded)

// exchange is a context for one exchange with the store.
func (k *Kit) exchange(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, k.opt.StoreTimeout, errNoAnswer)
}

// explain adds to the error of an exchange that it took too long.
func explain(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return fmt.Errorf("%w (%w)", err, errNoAnswer)
	}
	return err
}

// ending is a context for ending a transaction, which must happen even when the
// caller is gone or MaxRun is over.
func (k *Kit) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), k.opt.StoreTimeout)
}

const (
	firstPause = 5 * time.Millisecond
	maxPause   = 250 * time.Millisecond

	// maxConflicts is how often the work is done for one call when each time
	// another transaction is in its way.
	maxConflicts = 10
)

// sleep waits about d, a little less so that pollers drift apart; false when
// ctx or the time to wait ended first.
func sleep(ctx context.Context, until time.Time, d time.Duration) bool {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return pause.For(ctx, d-rand.N(d/4))
}

// stopped says why waiting ended: the caller left, or the wait was over.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrInProgress, context.Cause(ctx))
	}
	return ErrInProgress
}

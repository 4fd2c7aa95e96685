package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/idempotency/internal/vendorkey"
	"github.com/cronce/cronce/idempotency/store"
)

// Effect is a call to another system, which no transaction can undo.
type Effect[T any] struct {
	// Do makes the call, once. Its context carries the key for the vendor
	// ([VendorKey]), which the Transport of package vendorhttp sends. The context ends
	// MaxRun after the kit began to reserve the key, before the lease does. An error
	// means that the outcome is unknown, unless it wraps [ErrNotDone].
	Do func(context.Context) (T, error)
	// Reconcile finds out the outcome of an earlier call with the same key. If done is
	// false and err is nil, that call was not made and never will be; then Do is
	// called. Without Reconcile the outcome stays unknown until an operator changes the
	// key's row.
	Reconcile func(context.Context) (result T, done bool, err error)
}

// ErrNotDone reports that an external call certainly had no effect. [Effect.Do] returns
// an error that wraps it; the key is then free again.
var ErrNotDone = errors.New("the call was certainly not made")

// Call makes an external call at most once for the operation's key. It reserves the key
// and commits that, makes the call, and stores its result. A process that dies meanwhile
// leaves the key reserved until its lease (MaxRun plus StoreTimeout) expires. After that
// the outcome is unknown, and the next Call calls Reconcile. The external call is never
// made again unless Reconcile allows it.
//
// duplicate reports whether the result was stored or reconciled. The error wraps
// [ErrOutcomeUnknown] if this Call or an earlier one perhaps made the external call, and
// [ErrNotDone] if this Call certainly did not make it. Before that, Call returns
// [ErrInvalidKey], [ErrMismatch], [ErrInProgress], [ErrTooLate] or [ErrUnavailable] as
// [Do] does.
//
// Call commits by itself. Inside a handler's transaction it needs a second connection,
// and its effect remains even if the handler's work is rolled back.
func Call[T any](ctx context.Context, k *Kit, op Operation, e Effect[T]) (result T, duplicate bool, err error) {
	c, err := k.operation(op)
	if err != nil {
		return result, false, err
	}
	store, ok := k.store.(store.Reserver)
	if !ok {
		return result, false, fmt.Errorf("idempotency: Call needs a store that can reserve keys; %T cannot", k.store)
	}
	caller := call[T]{kit: k, store: store, claim: c, effect: e}
	r, duplicate, err := k.claimOrWait(ctx, c, func() (attempt, error) {
		caller.began = time.Now()
		return caller.attempt(ctx)
	})
	if err != nil {
		return result, false, err
	}
	return decoded[T](r, duplicate)
}

type call[T any] struct {
	kit    *Kit
	store  store.Reserver
	claim  store.Claim
	effect Effect[T]
	began  time.Time // before the key was reserved, so that MaxRun is over before the lease is
}

// attempt reserves the key, or takes it over to reconcile what was lost.
func (c call[T]) attempt(ctx context.Context) (attempt, error) {
	status, err := c.reserve(ctx, false)
	if err != nil {
		// Perhaps the key is reserved and the answer was lost. No call was made,
		// and without this it would be taken for one when the lease has lapsed.
		_ = c.giveUp(ctx, c.store.Release)
		return attempt{}, err
	}
	if c.effect.Reconcile == nil || decide(status, c.claim) != unknown {
		return attempt{status,
			func() (Reply, bool, error) { return c.run(ctx, c.make) },
			func() {
				if status.Held {
					_, _ = c.store.Release(ctx, c.claim)
				}
			},
		}, nil
	}
	late := status.TooLate
	if status, err = c.reserve(ctx, true); err != nil {
		_ = c.giveUp(ctx, c.store.MarkUnknown)
		return attempt{}, err
	}
	return attempt{store.KeyStatus{Held: status.Held},
		func() (Reply, bool, error) {
			return c.run(ctx, func(ctx context.Context) (T, bool, error) { return c.reconcile(ctx, late) })
		},
		func() {},
	}, nil
}

func (c call[T]) reserve(ctx context.Context, takeOver bool) (store.KeyStatus, error) {
	ctx, cancel := c.kit.exchange(ctx)
	defer cancel()
	status, err := c.store.Reserve(ctx, c.claim, c.claim.MaxRun+c.kit.opt.StoreTimeout, takeOver)
	return status, explain(ctx, err)
}

func (c call[T]) make(ctx context.Context) (result T, duplicate bool, err error) {
	if c.over() {
		return result, false, fmt.Errorf("%w, because MaxRun was over before it: %w", ErrNotDone, ErrUnavailable)
	}
	result, err = c.effect.Do(ctx)
	return result, false, err
}

// over reports whether the lease may have lapsed meanwhile: another process can
// have reconciled the call. It asks both clocks. The monotonic one stands still
// while the machine is suspended, and the wall clock can be set back.
func (c call[T]) over() bool {
	now := time.Now()
	return now.Sub(c.began) >= c.claim.MaxRun || now.Round(0).Sub(c.began.Round(0)) >= c.claim.MaxRun
}

func (c call[T]) reconcile(ctx context.Context, late bool) (result T, duplicate bool, err error) {
	result, done, err := c.effect.Reconcile(ctx)
	if err != nil {
		// As text: an ErrNotDone in it is about this look-up, and the lost call may
		// have been made all the same.
		return result, false, errors.New("reconcile: " + err.Error())
	}
	if done {
		return result, true, nil
	}
	if late {
		return result, false, fmt.Errorf("%w: %w", ErrNotDone, ErrTooLate)
	}
	return c.make(ctx)
}

// run works on a key that is reserved for us, and completes it. Whatever stops it
// before that leaves the outcome unknown.
func (c call[T]) run(ctx context.Context, fn func(context.Context) (T, bool, error)) (_ Reply, _ bool, err error) {
	running, cancel := context.WithDeadline(context.WithoutCancel(ctx), c.began.Add(c.claim.MaxRun))
	defer cancel()
	completed := false
	defer func() {
		if !completed {
			_ = c.giveUp(ctx, c.store.MarkUnknown)
		}
	}()
	result, duplicate, err := fn(vendorkey.With(running, vendorKey(c.claim.Key)))
	if errors.Is(err, ErrNotDone) {
		completed = true
		return Reply{}, false, errors.Join(err, c.giveUp(ctx, c.store.Release))
	}
	if err != nil {
		return Reply{}, false, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	r, err := c.finish(ctx, result)
	completed = err == nil
	return r, duplicate, err
}

// finish stores the result. If the lease has expired and another owner has taken the
// key over, the key stays with that owner.
func (c call[T]) finish(ctx context.Context, result T) (Reply, error) {
	body, err := json.Marshal(result)
	if err != nil {
		return Reply{}, fmt.Errorf("%w: the result cannot be stored as JSON: %w", ErrOutcomeUnknown, err)
	}
	r := Reply{Body: body}
	end, cancel := c.kit.ending(ctx)
	defer cancel()
	var held bool
	r.ExpiresAt, held, err = c.store.Complete(end, c.claim, r)
	if err == nil && !held {
		err = errLapsed
	}
	if err != nil {
		return Reply{}, fmt.Errorf("%w: the call was made, but its result is not stored: %w", ErrOutcomeUnknown, err)
	}
	return r, nil
}

var errLapsed = errors.New("the lease lapsed and another call has the key")

// giveUp is MarkUnknown or Release, when the work is over without a result. What cannot
// be written now the lapsing lease says later.
func (c call[T]) giveUp(ctx context.Context, how func(context.Context, store.Claim) (bool, error)) error {
	end, cancel := c.kit.ending(ctx)
	defer cancel()
	_, err := how(end, c.claim)
	return err
}

// VendorKey returns the idempotency key that a [Call] sends to the vendor. All
// attempts of one operation and its reconciliation send the same key. It returns ""
// when ctx does not belong to a Call.
func VendorKey(ctx context.Context) string { return vendorkey.Of(ctx) }

func vendorKey(k Key) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%s", len(k.Scope), k.Scope, len(k.Principal), k.Principal, k.Value))
	return hex.EncodeToString(h[:16])
}

package idempotency

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// Operation names one piece of work for [Do], [Kit.DoLong] and [Call].
type Operation struct {
	// Scope is the namespace of the key: what happened and who handles it, such as
	// "event:order.placed.v1/commission" ([EventScope]). Two handlers of one event need
	// two scopes.
	Scope string
	// Principal owns the key; default "-", the service itself.
	Principal string
	// Key names the operation in the scope, for example the ID of the event.
	Key string
	// Payload must be the same on every repetition. A string or []byte that is JSON
	// text is compared by its meaning, any other byte by byte. Other values are compared
	// by their JSON. nil equals only nil.
	Payload any
	// TTL overrides the kit's TTL for the scope.
	TTL time.Duration
	// SendBefore is the time from which no work is started; zero: no bound.
	SendBefore time.Time
}

// Do runs fn once for the key, in a transaction. fn gets the transaction through the
// engine's accessor. If ctx already carries a transaction of the store, Do joins it.
// duplicate reports that the work had been done before, so that fn was not run. An error
// of fn rolls its work back and leaves the key free, unless it is [Final]. The key
// belongs to the principal "-", the service itself. The errors are those of [Do].
func (k *Kit) Do(ctx context.Context, scope, key string, payload any, fn func(context.Context) error) (duplicate bool, err error) {
	_, duplicate, err = Do(ctx, k, Operation{Scope: scope, Key: key, Payload: payload},
		func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return duplicate, err
}

// Do is [Kit.Do] for work with a result, which is stored as JSON and returned
// to every repetition, and for an Operation with more fields.
//
// The error is fn's own, or a stored [FinalError], or wraps one of [ErrInvalidKey],
// [ErrMismatch], [ErrInProgress] (repeat later), [ErrTooLate], [ErrUnavailable],
// [ErrRunTooLong], [ErrReplyTooLarge], [ErrTxAborted] (also as [ErrConflict]) and
// [ErrTxEnded]. If the key is one of [Call], it can wrap [ErrOutcomeUnknown]. A payload
// or result that cannot be written as JSON, or a stored result that does not fit T, gives
// an error of its own.
func Do[T any](ctx context.Context, k *Kit, op Operation, fn func(context.Context) (T, error)) (result T, duplicate bool, err error) {
	c, err := k.operation(op)
	if err != nil {
		return result, false, err
	}
	var final error
	r, duplicate, err := k.once(ctx, c, func(ctx context.Context) (Reply, Disposition, error) {
		value, err := fn(ctx)
		switch {
		case isFinal(err):
			final = err
			return k.finalReply(err, value)
		case err != nil:
			return Reply{}, Release, err
		}
		return k.reply(value)
	})
	if err != nil {
		return result, false, err
	}
	result, duplicate, err = decoded[T](r, duplicate)
	if final != nil && !duplicate {
		err = final // as fn returned it, and not as it is stored
	}
	return result, duplicate, err
}

// InTransaction reports whether ctx carries a transaction of the store, which Do
// would join. An entry point that answers a caller must refuse then: it would answer
// before that transaction is committed.
func (k *Kit) InTransaction(ctx context.Context) bool { return k.store.InTransaction(ctx) }

func (k *Kit) operation(op Operation) (store.Claim, error) {
	set(&op.Principal, "-")
	print, err := payloadFingerprint(op.Payload)
	if err != nil {
		return store.Claim{}, fmt.Errorf("fingerprint of the payload of %s %s: %w", op.Scope, op.Key, err)
	}
	c := k.claim(Key{Scope: op.Scope, Principal: op.Principal, Value: op.Key}, print, op.TTL)
	c.SendBefore = op.SendBefore
	return c, nil
}

// reply is what Do and Call store: a value too large for it fails the work,
// since a repetition could not be given it.
func (k *Kit) reply(value any) (Reply, Disposition, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return Reply{}, Release, fmt.Errorf("the result cannot be stored as JSON: %w", err)
	}
	if len(body) > k.opt.MaxStoredBody {
		return Reply{}, Release, fmt.Errorf("%w: the result has %d bytes of JSON, more than MaxStoredBody (%d); return less, or a reference",
			ErrReplyTooLarge, len(body), k.opt.MaxStoredBody)
	}
	return Reply{Body: body}, Commit, nil
}

func decoded[T any](r Reply, duplicate bool) (result T, _ bool, err error) {
	if r.Omitted {
		return result, duplicate, ErrTxEnded
	}
	if r.Status == finalStatus {
		return decodedFinal[T](r, duplicate)
	}
	if err := json.Unmarshal(r.Body, &result); err != nil {
		return result, duplicate, fmt.Errorf("the stored result does not fit its type any more: %w", err)
	}
	return result, duplicate, nil
}

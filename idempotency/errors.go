package idempotency

import (
	"errors"

	"github.com/cronce/cronce/idempotency/store"
)

var (
	// ErrInvalidKey: a key, scope or principal that cannot be stored.
	ErrInvalidKey = store.ErrInvalidKey
	// ErrMismatch: the key was used before with another payload. Repeat the
	// first payload, or use a new key.
	ErrMismatch = errors.New("the idempotency key was used with another payload")
	// ErrInProgress: the first call with the key still runs. Ask again later
	// with the same key.
	ErrInProgress = errors.New("the first call with this idempotency key is still in progress")
	// ErrTooLate: the caller's send-before time has passed and no reply is
	// stored. Nothing was done.
	ErrTooLate = errors.New("the call arrived after its send-before time")
	// ErrUnavailable: the key store could not be reached, or gave no answer in
	// time. Repeat the call with the same key; the kit then finds what was done.
	ErrUnavailable = store.ErrUnavailable
	// ErrOutcomeUnknown: an external call was made, or perhaps made, and nobody
	// knows what came of it. A reconcile function or an operator must find out; the
	// kit never repeats the call by itself.
	ErrOutcomeUnknown = errors.New("the outcome of the external call is unknown")
	// ErrRunTooLong: the work outlasted MaxRun and was rolled back.
	ErrRunTooLong = errors.New("the work took longer than MaxRun and was rolled back")
	// ErrTxEnded: the work ended the kit's transaction itself. Whether its
	// effects stand is not known, so the key is kept and nothing is run again.
	ErrTxEnded = store.ErrTxEnded
	// ErrTxAborted: the work's transaction could not be committed (a statement
	// of the work had failed, a deferred constraint, a deadlock) and was rolled
	// back. The key is free.
	ErrTxAborted = store.ErrTxAborted
	// ErrReplyTooLarge is what a handler's Write returns past
	// Options.MaxReplyBody, and Do for a result past Options.MaxStoredBody. The
	// work is rolled back and the key is free.
	ErrReplyTooLarge = errors.New("the reply is too large")
	// ErrConflict is for engines whose isolation is stricter than READ COMMITTED:
	// the work, or its commit, failed because of another transaction (SQLSTATE
	// 40001, 40P01). The kit runs the work again; a caller sees this error, which
	// is an ErrTxAborted, only when that has failed several times.
	ErrConflict = store.ErrConflict
	// ErrNotYours is what Commit and Rollback of a transaction that the kit
	// handed out return. The transaction goes on.
	ErrNotYours = store.ErrNotYours
	// ErrLeaseLost: long work has lost its key, because it did not renew its lease
	// in time. Another worker may have started the work again.
	ErrLeaseLost = errors.New("the lease on the idempotency key is lost")
	// ErrShutdown: [Kit.Shutdown] was called. No long work begins, and the context
	// of running work may have ended with this cause.
	ErrShutdown = errors.New("the service is shutting down")
)

package idempotency

import (
	"errors"

	"github.com/cronce/cronce/idempotency/store"
)

// Errors of the kit. Test for them with [errors.Is].
var (
	// ErrInvalidKey reports that a key, scope or principal cannot be stored.
	ErrInvalidKey = store.ErrInvalidKey
	// ErrMismatch reports that the key was used before with another payload. Repeat
	// the first payload, or use a new key.
	ErrMismatch = errors.New("the idempotency key was used with another payload")
	// ErrInProgress reports that the first call with the key is still running. Repeat
	// the call later, with the same key.
	ErrInProgress = errors.New("the first call with this idempotency key is still in progress")
	// ErrTooLate reports that the caller's send-before time has passed and no reply is
	// stored. Nothing was done.
	ErrTooLate = errors.New("the call arrived after its send-before time")
	// ErrUnavailable reports that the key store could not be reached, or gave no answer
	// in time. Repeat the call with the same key; the kit then finds what was done.
	ErrUnavailable = store.ErrUnavailable
	// ErrOutcomeUnknown reports that an external call was perhaps made, and that its
	// outcome is not known. Effect.Reconcile or an operator must find it out. The kit
	// never repeats the call by itself.
	ErrOutcomeUnknown = errors.New("the outcome of the external call is unknown")
	// ErrRunTooLong reports that the work took longer than MaxRun and was rolled back.
	// The key is free.
	ErrRunTooLong = errors.New("the work took longer than MaxRun and was rolled back")
	// ErrTxEnded reports that the work committed or rolled back the kit's transaction
	// itself. It is not known whether its effects are committed. So the key stays
	// taken, and the work is not run again.
	ErrTxEnded = store.ErrTxEnded
	// ErrTxAborted reports that the work's transaction could not be committed and was
	// rolled back: a statement of the work had failed, or there was a deferred
	// constraint or a deadlock. The key is free.
	ErrTxAborted = store.ErrTxAborted
	// ErrReplyTooLarge is returned by Write of a handler's http.ResponseWriter for a
	// body larger than Options.MaxReplyBody, and by Do for a result larger than
	// Options.MaxStoredBody. The work is rolled back and the key is free.
	ErrReplyTooLarge = errors.New("the reply is too large")
	// ErrConflict reports that the work, or its commit, has failed several times because
	// of other transactions (SQLSTATE 40001, 40P01). It happens only with an isolation
	// stricter than READ COMMITTED. It wraps ErrTxAborted.
	ErrConflict = store.ErrConflict
	// ErrTxManaged is returned by Commit and Rollback of a transaction that the kit has
	// opened. The transaction goes on.
	ErrTxManaged = store.ErrTxManaged
	// ErrLeaseLost reports that long work has lost its key, because it did not renew its
	// lease in time. Another worker may have started the work again.
	ErrLeaseLost = errors.New("the lease on the idempotency key is lost")
	// ErrShutdown reports that [Kit.Shutdown] was called: no long work begins. It can
	// also be the cause with which the context of running work ends.
	ErrShutdown = errors.New("the service is shutting down")
)

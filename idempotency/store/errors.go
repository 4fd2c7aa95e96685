package store

import (
	"errors"
	"fmt"
)

// What a [Tx] and a [Store] return, as their methods say.
var (
	// ErrUnavailable: the database could not be reached, or gave no answer in time.
	ErrUnavailable = errors.New("the idempotency store is unavailable")
	// ErrTxEnded: the work ended the transaction itself, so its effects may stand.
	ErrTxEnded = errors.New("the work committed or rolled back the kit's transaction: leave both to the kit")
	// ErrTxAborted: the transaction could not be committed (a statement of the work
	// had failed, a deferred constraint, a deadlock) and was rolled back.
	ErrTxAborted = errors.New("the work's transaction could not be committed and was rolled back")
	// ErrConflict: the work, or its commit, failed because of another transaction
	// (SQLSTATE 40001, 40P01), under an isolation stricter than READ COMMITTED. The
	// kit runs the work again.
	ErrConflict = fmt.Errorf("%w: it conflicted with another transaction each time", ErrTxAborted)
	// ErrNotYours is what Commit and Rollback of a transaction in the hands of the
	// work return. The transaction goes on.
	ErrNotYours = errors.New("this transaction is committed or rolled back by the idempotency kit: return from the handler instead")
	// ErrLostRace: a live record appeared while the work ran. The work was rolled
	// back, and the kit answers from that record.
	ErrLostRace = errors.New("another call completed this idempotency key first")
)

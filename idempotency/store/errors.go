package store

import (
	"errors"
	"fmt"
)

// Errors that the methods of a [Store] and a [Tx] return, as their comments say.
var (
	// ErrUnavailable reports that the database could not be reached, or gave no answer in
	// time.
	ErrUnavailable = errors.New("the idempotency store is unavailable")
	// ErrTxEnded reports that the work ended the transaction itself, so that its effects
	// may be committed.
	ErrTxEnded = errors.New("the work committed or rolled back the kit's transaction: leave both to the kit")
	// ErrTxAborted reports that the transaction could not be committed and was rolled
	// back: a statement of the work had failed, or there was a deferred constraint or a
	// deadlock.
	ErrTxAborted = errors.New("the work's transaction could not be committed and was rolled back")
	// ErrConflict reports that the work, or its commit, failed because of another
	// transaction (SQLSTATE 40001, 40P01), with an isolation stricter than READ
	// COMMITTED. The kit runs the work again. It wraps ErrTxAborted.
	ErrConflict = fmt.Errorf("%w: it conflicted with another transaction each time", ErrTxAborted)
	// ErrTxManaged is returned by Commit and Rollback of the transaction that the work
	// gets. The transaction goes on.
	ErrTxManaged = errors.New("this transaction is committed or rolled back by the idempotency kit: return from the handler instead")
	// ErrLostRace reports that a live record appeared while the work ran. The work was
	// rolled back, and the kit answers from that record.
	ErrLostRace = errors.New("another call completed this idempotency key first")
)

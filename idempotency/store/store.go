// Package store defines the interfaces that an engine of the idempotency kit implements:
// [Store] for Handler and Do, [Reserver] for Call, [Worker] for long work, and [Checker]
// for Ready. Import it to write an engine for another database, and test the engine with
// package idempotencytest.
//
// A service does not need this package. It opens one of the engines (packages postgres,
// pgsql, mysql, sqlite) and passes it to idempotency.New.
package store

import (
	"context"
	"net/http"
	"time"
)

// State is the state of a stored key. A key whose work runs in a
// transaction has no committed row until it is done.
type State string

const (
	// StateDone means that the work is done and its reply is stored. The state ends when
	// the record expires.
	StateDone State = "done"
	// StateOmitted means that the work is done and its reply was too large: status and
	// headers are stored, the body is not. The state ends when the record expires.
	StateOmitted State = "omitted"
	// StateCalling means that a Call holds the key under a lease. Its owner stores the
	// outcome or releases the key. Once the lease has expired the outcome is unknown.
	StateCalling State = "calling"
	// StateUnknown means that the owner of a Call does not know its outcome. A
	// reconciliation ends the state.
	StateUnknown State = "unknown"
	// StateAccepted means that long work holds the key under a lease, and that the body
	// is its progress. Its owner finishes the work or releases the key. Once the lease
	// has expired, the next request starts the work again. The record also expires.
	StateAccepted State = "accepted"
)

// Reply is the result of a call. It is sent, stored, and sent again to each repetition.
type Reply struct {
	Status  int         // HTTP status; 0 for Do and Call, but 422 for a final error of Do
	Header  http.Header // only the headers that are replayed
	Body    []byte      // verbatim
	Omitted bool        // the body was not stored
	// ExpiresAt is the time at which the key expires; zero if nothing was stored.
	ExpiresAt time.Time
}

// Record is a stored key.
type Record struct {
	State       State
	Fingerprint string
	Owner       string // the token of the call that wrote it
	Reply
}

// Claim is a call's request for a key.
type Claim struct {
	Key         Key
	Fingerprint string        // of the payload
	Owner       string        // random, new for each call
	TTL         time.Duration // from completion to expiry
	// SendBefore is the time from which no work is started; zero: no limit.
	SendBefore time.Time
	// MaxRun limits the work. The store has the database end a transaction whose
	// process is silent for MaxRun. That frees the key of a process that died or
	// stopped.
	MaxRun time.Duration
	// Lease is for Worker only: how long long work holds the key, counted from the time
	// of the store's answer. Reserver.Reserve has an argument of its own.
	Lease time.Duration
}

// KeyStatus is the state of a key at one time of the store's clock.
type KeyStatus struct {
	// Record is the key's live record; nil if there is none or it has expired. A
	// record expires at its ExpiresAt.
	Record *Record
	// LeaseExpired reports whether the record is in StateCalling or StateAccepted and
	// its lease has expired.
	LeaseExpired bool
	// Held reports whether the claim has taken the key.
	Held bool
	// TooLate reports whether the store's clock is at or after Claim.SendBefore.
	TooLate bool
}

// Store is a database that keeps keys. Its methods return [ErrUnavailable] for every
// failure that the caller has not caused.
type Store interface {
	// Begin opens a transaction, tries to take the key in it and looks the key
	// up, in that order, without waiting for another holder. If the context
	// carries a transaction of the store's kind, Begin joins it. The
	// transaction is open when err is nil, whatever the KeyStatus says.
	Begin(context.Context, Claim) (Tx, KeyStatus, error)
	// Lookup looks the key up without taking it. It sees only committed rows, not those
	// that a transaction in the context has written, since all callers that wait for
	// the key share the result.
	Lookup(context.Context, Claim) (KeyStatus, error)
	// InTransaction reports whether the context carries a transaction that Begin would
	// join.
	InTransaction(context.Context) bool
}

// Tx is an open transaction of a [Store]. Exactly one of Commit and Rollback is
// called, once. A Commit that fails has rolled the transaction back, or has left
// that to the database (ErrUnavailable).
type Tx interface {
	// Context returns a context that carries the transaction, for the engine's accessor.
	Context(context.Context) context.Context
	// Commit writes the record and commits it together with the work. It returns the
	// time at which the record expires. The kit depends on which error it wraps:
	//
	//   - ErrLostRace: there is a live record already.
	//   - ErrTxEnded: the work has ended the transaction.
	//   - ErrConflict: another transaction was in the way, and the work can be run again.
	//   - ErrTxAborted: the transaction was rolled back for any other reason.
	//   - ErrUnavailable: the database could not be reached, or gave no answer in time.
	Commit(context.Context, Claim, Reply) (time.Time, error)
	// Rollback rolls the work back and frees the key. If the statement does not reach
	// the database, the database rolls back by itself. In a transaction that Begin
	// joined, Rollback undoes only what was done since. It returns nil, ErrTxEnded if the
	// work has ended the transaction, or ErrConflict if the work failed because of
	// another transaction and can be run again.
	Rollback(context.Context) error
}

// Reserver is a [Store] that can hold a key during work outside the database, which
// idempotency.Call needs. Every method is one short transaction.
type Reserver interface {
	// Reserve takes the key for the claim's owner and the lease, counted from the time of
	// the store's answer, and commits that durably. Claim.Lease is not used. Without
	// takeOver it takes only a free key. With takeOver it takes only a key with the
	// claim's payload whose outcome is unknown. If it has taken the key, Held is true and
	// Record is nil. Otherwise Record is the record that is in the way.
	Reserve(ctx context.Context, c Claim, lease time.Duration, takeOver bool) (KeyStatus, error)
	// Complete stores the reply and starts the TTL. If the claim's owner no longer has
	// the key, held is false and nothing is changed.
	Complete(ctx context.Context, c Claim, r Reply) (expires time.Time, held bool, err error)
	// MarkUnknown puts the key into StateUnknown; held is as for Complete.
	MarkUnknown(ctx context.Context, c Claim) (held bool, err error)
	// Release removes the key, since nothing was done; held is as for Complete.
	Release(ctx context.Context, c Claim) (held bool, err error)
}

// Worker is a [Store] that can hold a key during long work, which Kit.Accept and
// Kit.DoLong need. Accept, Renew and Abandon are one short transaction each.
type Worker interface {
	// Accept takes the key for the claim's owner and Claim.Lease, and commits that. It
	// takes a free key, or one of long work with the same payload whose lease has
	// expired. It takes none if the claim is too late. If it has taken the key, Held is
	// true, and the body of Record is the progress of an earlier worker. Otherwise Record
	// is the record that is in the way.
	Accept(context.Context, Claim) (KeyStatus, error)
	// Renew starts the lease anew and stores the progress, which is JSON; nil: no
	// progress. If the claim's owner no longer has the key, held is false and nothing is
	// changed.
	Renew(ctx context.Context, c Claim, progress []byte) (held bool, err error)
	// Abandon removes the key; held is as for Renew.
	Abandon(ctx context.Context, c Claim) (held bool, err error)
	// Resume opens a transaction that locks the accepted key. Its Commit replaces the
	// record by the reply; its Rollback leaves the record as it was. held is as for
	// Renew; tx is nil if it is false.
	Resume(context.Context, Claim) (tx Tx, held bool, err error)
}

// Checker is a [Store] that Kit.Ready can check before the first call.
type Checker interface {
	// Check returns an error for everything that would make calls fail or weaken the
	// kit's guarantees: the table and its columns, privileges, the isolation, timeouts
	// that are longer than maxRun. The error says what to do about each. It is
	// ErrUnavailable if the database cannot be reached. Check changes nothing.
	Check(ctx context.Context, maxRun time.Duration) error
}

// Package store defines what an engine of the idempotency kit implements: [Store]
// for Handler and Do, [Reserver] for Call, [Worker] for long work, and [Checker]
// for Ready. Import it to write an engine for another database, and run the
// contract of package idempotencytest on it.
//
// A service does not need this package: it opens one of the engines (packages
// postgres, pgsql, mysql, sqlite) and hands it to idempotency.New.
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
	// Done: the reply is stored. It leaves by expiry.
	Done State = "done"
	// Omitted: the work is done and its reply was too large:
	// status and headers are stored, the body is not. It leaves by expiry.
	Omitted State = "omitted"
	// Calling: a Call holds the key under a lease. Its owner settles it or gives it
	// up; once the lease has lapsed the outcome is unknown.
	Calling State = "calling"
	// Unknown: the owner itself could not tell what came of the call. A
	// reconciliation takes it out.
	Unknown State = "unknown"
	// Accepted: long work holds the key under a lease, and the body is its
	// progress. Its owner finishes it or gives it up; once the lease has lapsed
	// the next request starts the work again. It leaves by expiry too.
	Accepted State = "accepted"
)

// Reply is the result of a call: it is sent, stored, and sent again.
type Reply struct {
	Status  int         // HTTP status; 0 behind Do and Call, but 422 for a final error of Do
	Header  http.Header // only those that are replayed
	Body    []byte      // verbatim
	Omitted bool        // the body could not be stored
	// ExpiresAt is when the key is forgotten; zero when nothing was stored.
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
	Owner       string        // random, fresh for each call
	TTL         time.Duration // from completion to expiry
	// SendBefore is when the caller may have stopped asking; zero: never.
	SendBefore time.Time
	// MaxRun bounds the work. The store has the database end a transaction that
	// waits for its process for as long, which frees the key of a process that
	// died or stopped.
	MaxRun time.Duration
	// Lease is for how long long work gets the key, from the store's answer on.
	Lease time.Duration
}

// KeyStatus is a store's view of a key at one time of its own clock.
type KeyStatus struct {
	// Record is the key's live record; nil when there is none or it has
	// expired. A record is expired from ExpiresAt on.
	Record *Record
	// Lapsed: the record is Calling or Accepted and its lease has ended.
	Lapsed bool
	// Held: the transaction at hand has the key to itself.
	Held bool
	// Late: the store's clock is at or past Claim.SendBefore.
	Late bool
}

// Store is a database that keeps keys. Its methods return [ErrUnavailable] for
// every failure that is not the caller's own.
type Store interface {
	// Begin opens a transaction, tries to take the key in it and looks the key
	// up, in that order, without waiting for another holder. If the context
	// carries a transaction of the store's kind, Begin joins it. The
	// transaction is open when err is nil, whatever the KeyStatus says.
	Begin(context.Context, Claim) (Tx, KeyStatus, error)
	// Lookup looks the key up and takes nothing. It sees only committed rows, not
	// those that a transaction in the context has written: all callers that waited
	// share the result.
	Lookup(context.Context, Claim) (KeyStatus, error)
	// Joined reports whether the context carries a transaction that Begin would
	// join.
	Joined(context.Context) bool
}

// Tx is an open transaction of a [Store]. Exactly one of Commit and Rollback is
// called, once. A Commit that fails has rolled the transaction back, or has left
// that to the database (ErrUnavailable).
type Tx interface {
	// Context hands the transaction on, for the engine's typed accessor.
	Context(context.Context) context.Context
	// Commit writes the record and commits it together with the work. It
	// returns the time of expiry. ErrLostRace: a live record was in the way;
	// ErrTxEnded: the work had ended the transaction.
	Commit(context.Context, Claim, Reply) (time.Time, error)
	// Rollback frees the key and undoes the work. If the database does not receive
	// it, it rolls back by itself. In a transaction that Begin joined, it undoes
	// only what was done since. It returns nil or one of these: ErrTxEnded, the
	// work had ended the transaction, so that its effects may stand; ErrConflict,
	// the work failed because of another transaction and can be done again.
	Rollback(context.Context) error
}

// Reserver is a [Store] that can hold a key over work outside the database, which
// idempotency.Call needs. Every method is one short transaction of its own.
type Reserver interface {
	// Reserve takes the key for the claim's owner and the lease, and commits that,
	// so that a crash of the server does not forget it. It takes a key that is
	// free; with takeOver, instead, one with the claim's payload whose outcome is
	// unknown. Held in its answer says whether it did; Record is nil then, and else
	// what is in the way.
	Reserve(ctx context.Context, c Claim, lease time.Duration, takeOver bool) (KeyStatus, error)
	// Settle stores the reply and starts the TTL. held is false, and nothing
	// is changed, when the claim's owner no longer has the key.
	Settle(ctx context.Context, c Claim, r Reply) (expires time.Time, held bool, err error)
	// Doubt makes the key unknown; held as for Settle.
	Doubt(ctx context.Context, c Claim) (held bool, err error)
	// Free removes the key: nothing was done. held as for Settle.
	Free(ctx context.Context, c Claim) (held bool, err error)
}

// Worker is a [Store] that can keep a key over long work, which Kit.Accept and
// Kit.DoLong need. Accept, Renew and Abandon are one short transaction each.
type Worker interface {
	// Accept takes a key that is free, or whose long work with the same payload
	// has lost its lease, for the claim's owner and Claim.Lease, and commits
	// that. It takes nothing for a claim that is late. Held in its answer says
	// whether it did; Record is the key's record then, whose body is the progress
	// of an earlier worker, else what is in the way.
	Accept(context.Context, Claim) (KeyStatus, error)
	// Renew starts the lease anew and stores the progress, which is JSON; nil: no
	// progress. held is false, and nothing is changed, when the claim's owner no
	// longer has the key.
	Renew(ctx context.Context, c Claim, progress []byte) (held bool, err error)
	// Abandon removes the key; held as for Renew.
	Abandon(ctx context.Context, c Claim) (held bool, err error)
	// Resume opens a transaction that has the accepted key to itself. Its Commit
	// stores the reply in the record's place, its Rollback leaves the record as
	// it was. There is no transaction unless held, which is as for Renew.
	Resume(context.Context, Claim) (tx Tx, held bool, err error)
}

// Checker is a [Store] that Kit.Ready can check before the first call.
type Checker interface {
	// Check returns an error for everything that would fail calls or weaken what
	// the kit promises: the table and its columns, the privileges on it, the
	// isolation, timeouts that are longer than maxRun. Each says what to do.
	// ErrUnavailable: the database could not be asked. Check changes nothing.
	Check(ctx context.Context, maxRun time.Duration) error
}

package ledger

import (
	"context"
	"time"
)

// Rows is the part that an engine has in a [Ledger]: it stores rows, in transactions. It knows no
// rule: which row is written, and when, is decided in this package. Package ledgertest has its
// contract as a test suite.
type Rows interface {
	// Write runs f in a transaction and commits it. Nothing was written if f returns an
	// error. An error of the commit is ErrUnavailable: the transaction may or may not
	// have been applied. Write may run f more than once. The name says in an error
	// what failed.
	Write(ctx context.Context, name string, f func(Tx) error) error
	// Read runs f without locks: the methods that begin with Lock lock nothing here, and a write
	// is an error. What is asked for before one Get, or Now, is read in one state of the rows. A
	// later Get may read a newer one on PostgreSQL.
	Read(ctx context.Context, name string, f func(Tx) error) error
}

// Tx is one transaction of an engine, table by table. The rows_*.go files have the methods of
// each group.
//
// An engine may keep calls back until a Future is asked for, until Now, or until the
// commit. It then sends all that it kept, in the order of the calls: over a network that
// is one round trip. So a rule first asks for all that it knows it needs, then takes the
// results, then writes. A write fails at once, in a later Get, in Now or in the commit;
// the transaction is then lost, and each further Get returns the error.
//
// A Future is valid in its transaction. Those of Insert and UpdateFenced are valid after
// the commit too: a rule that needs the result for its answer alone takes it there.
//
// Other transactions may run at the same time. To keep them from blocking each other for
// ever, rules lock rows in one order: see docs/design.md#locks. What a method does not
// lock, another transaction may change before this one commits.
type Tx interface {
	// Now returns the store's clock, to the microsecond. It is read once for a
	// transaction.
	Now() (time.Time, error)

	ProcessTable
	JobTable
	PauseTable
	RunTable
	MemberTable
	ScheduleTable
	IncidentTable
	AuditTable
	HourTable

	ListingQueries // of several tables, for operators
	PurgeQueries   // of several tables, for old rows
}

// Future is the result of a call of Tx, which an engine may get later than the call. Its
// zero value is the zero result.
type Future[T any] struct {
	value T
	err   error
	get   func() (T, error)
}

// ResolvedFuture returns a future whose result an engine has.
func ResolvedFuture[T any](value T, err error) Future[T] { return Future[T]{value: value, err: err} }

// LazyFuture returns a future whose result get waits for. It may be called more than once.
func LazyFuture[T any](get func() (T, error)) Future[T] { return Future[T]{get: get} }

// Get returns the result. See Tx.
func (f Future[T]) Get() (T, error) {
	if f.get != nil {
		return f.get()
	}
	return f.value, f.err
}

// take returns the result of a future, and notes its error. After an error it returns the zero
// value: a rule takes several results, and looks at the error once.
func take[T any](err *error, f Future[T]) (result T) {
	if *err == nil {
		result, *err = f.Get()
	}
	return result
}

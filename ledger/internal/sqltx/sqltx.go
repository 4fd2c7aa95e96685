// Package sqltx has the operations of [ledger.Tx] that are the same statements on both
// databases, and reads the rows that both return. What an engine does differently, its own
// method does in their place.
package sqltx

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

// Engine runs the statements of one transaction.
type Engine interface {
	// Query runs a query, and calls row for each row before wait returns its error.
	Query(q Query, row func(Values) error) (wait func() error)
	// Exec runs a statement that returns no rows. Its error may come later.
	Exec(text string, args ...any) error
}

// Query is a statement that returns rows. Its parameters, $1 and so on, are of type string,
// int, int64, bool, time.Time, []byte, []string or []int64; the zero time and nil are NULL.
type Query struct {
	Text   string
	Args   []any
	Varies bool // there are many texts, of which few are sent often
}

// Values are the columns of one row, each of which is read once, in order. NULL is the zero
// value.
type Values interface {
	Text() string
	Bytes() []byte
	Raw() []byte // Bytes that are valid until the next row
	Bool() bool
	Int() int64
	Time() time.Time
}

// Tx is the part of an engine's ledger.Tx that is here. Its methods do what that interface says.
type Tx struct {
	Engine  Engine
	Dialect *sqlfilter.Dialect
	Lock    string    // follows a query that locks what it returns
	Clock   time.Time // zero: it is the database's now()
}

// now returns the clock as parameter n, or without one.
func (t Tx) now(n string) (text string, args []any) {
	if t.Clock.IsZero() {
		return "now()", nil
	}
	return n, []any{t.Clock}
}

// List returns the result of a query: what read makes of each row.
func List[T any](t Tx, read func(Values) (T, error), text string, args ...any) ledger.Future[[]T] {
	return list(t, read, Query{Text: text, Args: args})
}

// list returns the result of any query, as List does.
func list[T any](t Tx, read func(Values) (T, error), q Query) ledger.Future[[]T] {
	var found []T
	wait := t.Engine.Query(q, func(v Values) error {
		item, err := read(v)
		found = append(found, item)
		return err
	})
	return ledger.LazyFuture(func() ([]T, error) {
		err := wait()
		return found, err
	})
}

// One returns the result of a query of at most one row.
func One[T any](t Tx, read func(Values) (T, error), text string, args ...any) ledger.Future[T] {
	return one(t, read, Query{Text: text, Args: args})
}

// one returns the result of any query, as One does.
func one[T any](t Tx, read func(Values) (T, error), q Query) ledger.Future[T] {
	var found T
	wait := t.Engine.Query(q, func(v Values) (err error) {
		found, err = read(v)
		return err
	})
	return ledger.LazyFuture(func() (T, error) {
		err := wait()
		return found, err
	})
}

// ByText returns the result of a query of two columns: by the text in the first, what read makes of
// the second.
func ByText[T any](t Tx, read func(Values) T, text string, args ...any) ledger.Future[map[string]T] {
	found := map[string]T{}
	wait := t.Engine.Query(Query{Text: text, Args: args}, func(v Values) error {
		key := v.Text()
		found[key] = read(v)
		return nil
	})
	return ledger.LazyFuture(func() (map[string]T, error) {
		err := wait()
		return found, err
	})
}

// Counts is ByText of numbers.
func Counts(t Tx, text string, args ...any) ledger.Future[map[string]int] {
	return ByText(t, func(v Values) int { return int(v.Int()) }, text, args...)
}

// Text reads a row of one text.
func Text(v Values) (string, error) { return v.Text(), nil }

// Number reads a row of one number.
func Number(v Values) (int64, error) { return v.Int(), nil }

// Count reads a row of one count.
func Count(v Values) (int, error) { return int(v.Int()), nil }

// Moment reads a row of one time.
func Moment(v Values) (time.Time, error) { return v.Time(), nil }

// Texts returns a list as a parameter has it.
func Texts[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return texts
}

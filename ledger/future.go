package ledger

// Later is the result of a call of Tx, which an engine may get later than the call. Its
// zero value is the zero result.
type Later[T any] struct {
	value T
	err   error
	get   func() (T, error)
}

// Known returns a result that an engine has.
func Known[T any](value T, err error) Later[T] { return Later[T]{value: value, err: err} }

// Await returns a result that get waits for. It may be called more than once.
func Await[T any](get func() (T, error)) Later[T] { return Later[T]{get: get} }

// Get returns the result. See Tx.
func (l Later[T]) Get() (T, error) {
	if l.get != nil {
		return l.get()
	}
	return l.value, l.err
}

package ledger

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

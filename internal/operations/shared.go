package operations

import (
	"context"
	"time"
)

// shared lets those who ask for the same at about the same time share one look at
// the ledger.
type shared[T any] struct {
	turn chan struct{} // holds one token
	key  string
	at   time.Time
	got  T
}

func newShared[T any]() *shared[T] {
	s := &shared[T]{turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// get returns what look returned for the key last, if that is younger than age, or
// looks.
func (s *shared[T]) get(ctx context.Context, key string, age time.Duration, look func(context.Context) (T, error)) (got T, err error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return got, ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	if s.key == key && time.Since(s.at) < age {
		return s.got, nil
	}
	if got, err = look(ctx); err == nil {
		s.key, s.at, s.got = key, time.Now(), got
	}
	return got, err
}

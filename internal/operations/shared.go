package operations

import (
	"context"
	"time"
)

// shared answers callers that ask for the same at about the same time with one look at the ledger. Only one looks; the
// others wait for its answer. It keeps the last answer alone, so it serves questions that nearly all have one key.
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

// get returns the last answer if it is for this key and younger than age. Otherwise it calls look. An error is not
// kept.
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

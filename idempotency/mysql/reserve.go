package mysql

import (
	"context"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Reserve implements [idempotency.Reserver].
func (s *Store) Reserve(ctx context.Context, c idempotency.Claim, lease time.Duration, takeOver bool) (look idempotency.Look, err error) {
	for {
		look, err = s.reserve(ctx, c, lease, takeOver)
		if err == nil {
			return look, nil
		}
		if code(err) != deadlock || ctx.Err() != nil {
			return idempotency.Look{}, unavailable("reserve the key", err)
		}
	}
}

func (s *Store) reserve(ctx context.Context, c idempotency.Claim, lease time.Duration, takeOver bool) (look idempotency.Look, err error) {
	err = s.alone(ctx, c.MaxRun, func(t *tx) error {
		late, err := t.late(ctx, c)
		if err != nil {
			return err
		}
		if takeOver {
			values := append([]any{c.Owner, lease.Milliseconds()}, sqlkeys.Key(c.Key, c.Fingerprint)...)
			look.Held, err = sqlkeys.Changed(t.q.ExecContext(ctx, s.sql.takeOver.with(values...)))
		} else {
			look, err = t.take(ctx, c, lease)
		}
		look.Late = late
		return err
	})
	return look, err
}

// Settle implements [idempotency.Reserver].
func (s *Store) Settle(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (expires time.Time, held bool, err error) {
	err = s.alone(ctx, c.MaxRun, func(t *tx) error {
		expires, held, err = s.record(ctx, t.q, c, r)
		return err
	}, ownLockWait)
	if err != nil {
		return time.Time{}, false, unavailable("settle the key", err)
	}
	return expires, held, nil
}

// Doubt implements [idempotency.Reserver].
func (s *Store) Doubt(ctx context.Context, c idempotency.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.doubt, c)
}

// Free implements [idempotency.Reserver].
func (s *Store) Free(ctx context.Context, c idempotency.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.free, c)
}

func (s *Store) owned(ctx context.Context, statement statement, c idempotency.Claim) (held bool, err error) {
	err = s.alone(ctx, c.MaxRun, func(t *tx) error {
		held, err = sqlkeys.Changed(t.q.ExecContext(ctx, statement.with(sqlkeys.Key(c.Key, c.Owner)...)))
		return err
	}, ownLockWait)
	if err != nil {
		return false, unavailable("give the key up", err)
	}
	return held, nil
}

// alone runs fn in a transaction of its own, whatever ctx carries, and says
// then before it: what it writes must be on disk before the world outside is
// touched, in a session without autocommit too.
func (s *Store) alone(ctx context.Context, maxRun time.Duration, fn func(*tx) error, then ...string) error {
	t, err := s.open(ctx, maxRun, nil, then...)
	if err != nil {
		if t != nil {
			t.discard()
		}
		return err
	}
	if err = fn(t); err != nil {
		t.Rollback(ctx)
		return err
	}
	return t.close(ctx, commit)
}

package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Reserve implements [idempotency.Reserver].
func (s *Store) Reserve(ctx context.Context, c idempotency.Claim, lease time.Duration, takeOver bool) (look idempotency.Look, err error) {
	err = s.alone(ctx, func(t *tx) error {
		if look, err = t.look(ctx, c); err != nil {
			return err
		}
		statement := s.sql.reserve
		if takeOver {
			statement = s.sql.takeOver
		} else if look.Record != nil {
			return nil
		}
		look.Held, err = sqlkeys.Changed(t.exec(ctx, statement,
			keyed(c.Key, c.Fingerprint, c.Owner, lease.Milliseconds())...))
		return err
	})
	if err != nil {
		return idempotency.Look{}, unavailable("reserve the key", err)
	}
	return look, nil
}

// Settle implements [idempotency.Reserver].
func (s *Store) Settle(ctx context.Context, c idempotency.Claim, r idempotency.Reply) (expires time.Time, held bool, err error) {
	reply, err := sqlkeys.Columns(r)
	if err != nil {
		return time.Time{}, false, err
	}
	err = s.alone(ctx, func(t *tx) error {
		expires = expiry(c)
		held, err = sqlkeys.Changed(t.exec(ctx, s.sql.settle, append(keyed(c.Key, c.Owner, expires.UnixMilli()), reply...)...))
		return err
	})
	if err != nil {
		return time.Time{}, false, unavailable("settle the key", err)
	}
	if !held {
		return time.Time{}, false, nil
	}
	return expires, true, nil
}

// Doubt implements [idempotency.Reserver].
func (s *Store) Doubt(ctx context.Context, c idempotency.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.doubt, c)
}

// Free implements [idempotency.Reserver].
func (s *Store) Free(ctx context.Context, c idempotency.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.free, c)
}

func (s *Store) owned(ctx context.Context, statement string, c idempotency.Claim) (held bool, err error) {
	err = s.alone(ctx, func(t *tx) error {
		held, err = sqlkeys.Changed(t.exec(ctx, statement, keyed(c.Key, c.Owner)...))
		return err
	})
	if err != nil {
		return false, unavailable("give the key up", err)
	}
	return held, nil
}

// alone runs fn in a transaction of its own: what it writes must be on disk
// before the world outside is touched. Inside another transaction of this store
// it would wait for that one's end, and for ever.
func (s *Store) alone(ctx context.Context, fn func(*tx) error) error {
	if _, inside := engine.Joined(ctx, s); inside {
		return errors.New("SQLite has one writer at a time: make external calls outside of the handler's transaction")
	}
	t, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := fn(t); err != nil {
		t.close(ctx, rollback)
		return err
	}
	return t.close(ctx, commit)
}

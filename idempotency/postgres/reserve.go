package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/idempotency/store"
)

// Reserve implements [store.Reserver].
func (s *Store) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (store.KeyStatus, error) {
	statement := s.sql.reserve
	args := []any{c.Key.Scope, c.Key.Principal, c.Key.Value, c.Fingerprint, c.Owner, lease.Microseconds()}
	if takeOver {
		statement = s.sql.takeOver
	} else {
		args = append(args, s.lock(c.Key))
	}
	var b pgx.Batch
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`)
	// A crash of the server must not forget the key: the call was made.
	b.Queue(`SELECT set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off'`)
	write := b.Queue(statement, args...)
	look, err := s.commitAndLook(ctx, &b, write, c)
	if err != nil {
		return store.KeyStatus{}, unavailable("reserve the key", err)
	}
	if look.Held {
		look = store.KeyStatus{Held: true, TooLate: look.TooLate}
	}
	return look, nil
}

// commitAndLook ends the batch, whose last statement writes the key, and sends it
// in one round trip. It looks in a statement of its own after the write: the
// snapshot of the write does not show a row that was committed meanwhile and that
// the write met.
func (s *Store) commitAndLook(ctx context.Context, b *pgx.Batch, write *pgx.QueuedQuery, c store.Claim) (look store.KeyStatus, err error) {
	var held, late bool
	write.Exec(func(tag pgconn.CommandTag) error {
		held = tag.RowsAffected() == 1
		return nil
	})
	b.Queue(s.sql.look, c.Key.Scope, c.Key.Principal, c.Key.Value).QueryRow(func(row pgx.Row) (err error) {
		look, _, err = scanLook(row)
		return err
	})
	b.Queue(`SELECT coalesce($1::timestamptz <= clock_timestamp(), false)`, optional(c.SendBefore)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&late)
	})
	b.Queue(`COMMIT`)
	err = s.pool.SendBatch(ctx, b).Close()
	look.Held, look.TooLate = held, late
	return look, err
}

// Complete implements [store.Reserver].
func (s *Store) Complete(ctx context.Context, c store.Claim, r store.Reply) (expires time.Time, held bool, err error) {
	reply, err := columns(r)
	if err != nil {
		return expires, false, err
	}
	err = s.pool.QueryRow(ctx, s.sql.settle, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Owner,
		reply.state, reply.status, reply.header, reply.body, c.TTL.Microseconds()).Scan(&expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return expires, false, nil
	}
	if err != nil {
		return expires, false, unavailable("settle the key", err)
	}
	return expires.UTC(), true, nil
}

// MarkUnknown implements [store.Reserver].
func (s *Store) MarkUnknown(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.doubt, c)
}

// Release implements [store.Reserver].
func (s *Store) Release(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.free, c)
}

func (s *Store) owned(ctx context.Context, statement string, c store.Claim) (held bool, err error) {
	tag, err := s.pool.Exec(ctx, statement, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Owner)
	if err != nil {
		return false, unavailable("give the key up", err)
	}
	return tag.RowsAffected() == 1, nil
}

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/idempotency/store"
)

// begin starts a transaction of the store's own, whatever the role's defaults are.
const begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`

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
	b.Queue(begin)
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
	err = s.write(ctx, func(q *pgx.QueuedQuery) {
		q.QueryRow(func(row pgx.Row) error {
			err := row.Scan(&expires)
			if held = err == nil; errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
	}, s.sql.settle, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Owner,
		reply.state, reply.status, reply.header, reply.body, c.TTL.Microseconds())
	if err != nil {
		return time.Time{}, false, unavailable("settle the key", err)
	}
	return expires.UTC(), held, nil
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
	held, err = s.changed(ctx, statement, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Owner)
	if err != nil {
		return false, unavailable("give the key up", err)
	}
	return held, nil
}

// changed reports whether a statement changed one row.
func (s *Store) changed(ctx context.Context, statement string, args ...any) (one bool, err error) {
	err = s.write(ctx, func(q *pgx.QueuedQuery) {
		q.Exec(func(tag pgconn.CommandTag) error {
			one = tag.RowsAffected() == 1
			return nil
		})
	}, statement, args...)
	return one, err
}

// write runs one statement in one round trip, in a transaction that may write whatever
// the role's default is.
func (s *Store) write(ctx context.Context, result func(*pgx.QueuedQuery), statement string, args ...any) error {
	var b pgx.Batch
	b.Queue(begin)
	result(b.Queue(statement, args...))
	b.Queue(`COMMIT`)
	return s.pool.SendBatch(ctx, &b).Close()
}

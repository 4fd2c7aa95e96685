package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency/store"
)

// Reserve implements [store.Reserver]. It writes first and looks after,
// in a new statement: a row that was committed meanwhile is in the way of the
// write and not to be seen in its snapshot.
func (s *Store) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (look store.KeyStatus, err error) {
	statement := s.sql.reserve
	if takeOver {
		statement = s.sql.takeOver
	}
	var b pgx.Batch
	var held, late bool
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`)
	// A crash of the server must not forget the key: the call was made.
	b.Queue(`SELECT set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off'`)
	b.Queue(statement, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Fingerprint, c.Owner, lease.Microseconds())
	b.Queue(s.sql.look, c.Key.Scope, c.Key.Principal, c.Key.Value)
	b.Queue(`SELECT coalesce($1::timestamptz <= clock_timestamp(), false)`, optional(c.SendBefore))
	b.Queue(`COMMIT`)
	results := s.pool.SendBatch(ctx, &b)
	_, err = results.Exec()
	if err == nil {
		_, err = results.Exec()
	}
	if err == nil {
		tag, failed := results.Exec()
		held, err = tag.RowsAffected() == 1, failed
	}
	if err == nil {
		look, _, err = scanLook(results.QueryRow())
	}
	if err == nil {
		err = results.QueryRow().Scan(&late)
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return store.KeyStatus{}, unavailable("reserve the key", err)
	}
	if held {
		look = store.KeyStatus{Held: true}
	}
	look.Late = late
	return look, nil
}

// Settle implements [store.Reserver].
func (s *Store) Settle(ctx context.Context, c store.Claim, r store.Reply) (expires time.Time, held bool, err error) {
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

// Doubt implements [store.Reserver].
func (s *Store) Doubt(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.doubt, c)
}

// Free implements [store.Reserver].
func (s *Store) Free(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql.free, c)
}

func (s *Store) owned(ctx context.Context, statement string, c store.Claim) (held bool, err error) {
	tag, err := s.pool.Exec(ctx, statement, c.Key.Scope, c.Key.Principal, c.Key.Value, c.Owner)
	if err != nil {
		return false, unavailable("give the key up", err)
	}
	return tag.RowsAffected() == 1, nil
}

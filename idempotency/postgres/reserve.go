package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/store"
)

// begin starts a transaction of the store's own, whatever the role's defaults are.
const begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`

// Reserve implements [store.Reserver].
func (s *Store) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (store.KeyStatus, error) {
	statement, v := s.sql().insert, sqlkeys.Leased(c, store.StateCalling, lease, nil)
	if takeOver {
		statement = s.sql().TakeOver
	}
	status, err := s.writeAndLookup(ctx, c, statement, v)
	if err != nil {
		return store.KeyStatus{}, unavailable("reserve the key", err)
	}
	if status.Held {
		status = store.KeyStatus{Held: true, TooLate: status.TooLate}
	}
	return status, nil
}

// writeAndLookup runs a statement that writes the key in a transaction of its own, in one
// round trip. It looks in a statement of its own after the write: the snapshot of the write
// does not show a row that was committed meanwhile and that the write met.
func (s *Store) writeAndLookup(
	ctx context.Context, c store.Claim, statement sqlkeys.Statement, v sqlkeys.Values,
) (status store.KeyStatus, err error) {
	var b pgx.Batch
	var held bool
	v["lock"] = s.lock(c.Key)
	if !c.SendBefore.IsZero() {
		v["sendbefore"] = c.SendBefore // to the microsecond
	}
	b.Queue(begin)
	queue(&b, statement, v).Exec(func(tag pgconn.CommandTag) error {
		held = tag.RowsAffected() == 1
		return nil
	})
	queue(&b, s.sql().Lookup, v).QueryRow(func(row pgx.Row) (err error) {
		status, _, err = sqlkeys.ScanStatus(row)
		return err
	})
	b.Queue(`COMMIT`)
	err = s.pool.SendBatch(ctx, &b).Close()
	status.Held = held
	return status, err
}

// Complete implements [store.Reserver].
func (s *Store) Complete(ctx context.Context, c store.Claim, r store.Reply) (expires time.Time, held bool, err error) {
	v := sqlkeys.Of(c)
	if err := v.Reply(r); err != nil {
		return expires, false, err
	}
	status, err := s.writeAndLookup(ctx, c, s.sql().Complete, v)
	if err != nil {
		return expires, false, unavailable("complete the key", err)
	}
	if status.Held && status.Record != nil {
		expires = status.Record.ExpiresAt
	}
	return expires, status.Held, nil
}

// MarkUnknown implements [store.Reserver].
func (s *Store) MarkUnknown(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql().MarkUnknown, c)
}

// Release implements [store.Reserver].
func (s *Store) Release(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql().Release, c)
}

func (s *Store) owned(ctx context.Context, statement sqlkeys.Statement, c store.Claim) (held bool, err error) {
	held, err = s.changed(ctx, statement.Text(), statement.Args(sqlkeys.Of(c))...)
	if err != nil {
		return false, unavailable("give the key up", err)
	}
	return held, nil
}

// changed runs one statement in one round trip, in a transaction that may write whatever
// the role's default is, and reports whether it changed one row.
func (s *Store) changed(ctx context.Context, statement string, args ...any) (one bool, err error) {
	var b pgx.Batch
	b.Queue(begin)
	b.Queue(statement, args...).Exec(func(tag pgconn.CommandTag) error {
		one = tag.RowsAffected() == 1
		return nil
	})
	b.Queue(`COMMIT`)
	err = s.pool.SendBatch(ctx, &b).Close()
	return one, err
}

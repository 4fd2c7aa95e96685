package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
	"github.com/cronce/cronce/idempotency/store"
)

// Accept implements [store.Worker].
func (s *Store) Accept(ctx context.Context, c store.Claim) (store.KeyStatus, error) {
	status, err := s.writeAndLookup(ctx, c, s.sql().accept, sqlkeys.Accepted(c))
	if err != nil {
		return store.KeyStatus{}, unavailable("accept the work", err)
	}
	return status, nil
}

// Renew implements [store.Worker].
func (s *Store) Renew(ctx context.Context, c store.Claim, progress []byte) (held bool, err error) {
	v := sqlkeys.Accepted(c)
	v["body"] = progress
	held, err = s.changed(ctx, s.sql().Renew.Text(), s.sql().Renew.Args(v)...)
	if err != nil {
		return false, unavailable("renew the lease", err)
	}
	return held, nil
}

// Abandon implements [store.Worker].
func (s *Store) Abandon(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.sql().Abandon, c)
}

// Resume implements [store.Worker].
func (s *Store) Resume(ctx context.Context, c store.Claim) (store.Tx, bool, error) {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, false, unavailable("connect", err)
	}
	t := &tx{store: s, claim: c, pooled: pooled, conn: pooled.Conn()}
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{BeginQuery: s.sql().begin})
	b.Queue(s.sql().lock, s.lock(c.Key), milliseconds(c.MaxRun))
	queue(&b, s.sql().resume, sqlkeys.Of(c))
	results := t.conn.SendBatch(ctx, &b)
	t.own = results.Tx()
	t.work = newWorkTx(t.own, t.insertKey)
	o := &t.opened
	_, err = results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(&o.began, nil, nil, nil, nil)
		o.now, o.timeout, o.inserted, t.read = o.began, "0", true, time.Now()
	}
	if err == nil {
		err = results.QueryRow().Scan(&o.held)
	}
	err = errors.Join(err, results.Close())
	if err == nil {
		return t, true, nil
	}
	_ = t.Rollback(ctx)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, false, nil
	case conflict(err):
		return nil, false, fmt.Errorf("%w: %w", store.ErrConflict, err)
	default:
		return nil, false, unavailable("resume the work", err)
	}
}

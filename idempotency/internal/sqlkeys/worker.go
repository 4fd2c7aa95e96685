package sqlkeys

import (
	"context"
	"database/sql"
	"math/rand/v2"

	"github.com/cronce/cronce/idempotency/internal/pause"
	"github.com/cronce/cronce/idempotency/store"
)

// Accepted are the values of a row of long work, which expires when nobody has
// asked for the TTL after the lease.
func Accepted(c store.Claim) Values {
	return Leased(c, store.StateAccepted, c.Lease, (c.Lease + c.TTL).Milliseconds())
}

// Accept implements [store.Worker]. It writes first: SQLite does not let a
// transaction write that has read what another one has changed since.
func (s *Store) Accept(ctx context.Context, c store.Claim) (status store.KeyStatus, err error) {
	err = s.alone(ctx, func(tx *sql.Tx) error {
		v := Accepted(c)
		held, err := s.d.Insert(ctx, tx, c, v)
		if err == nil {
			status, _, err = ScanStatus(s.d.Statements().Lookup.Row(ctx, tx, v))
		}
		r := status.Record
		switch {
		case err != nil:
			return err
		case held && status.TooLate:
			status.Record = nil
			_, err = s.d.Statements().Abandon.Exec(ctx, tx, v)
			return err
		case !held && r != nil && r.State == store.StateAccepted && status.LeaseExpired && r.Fingerprint == c.Fingerprint && !status.TooLate:
			if held, err = s.d.Statements().TakeOverWork.Changed(ctx, tx, v); err == nil {
				status, _, err = ScanStatus(s.d.Statements().Lookup.Row(ctx, tx, v))
			}
		}
		status.Held = held
		return err
	})
	if err != nil {
		return store.KeyStatus{}, s.unavailable("accept the work", err)
	}
	return status, nil
}

// Renew implements [store.Worker]. MySQL counts no row whose values are the
// same as before, as of a second renewal within one millisecond.
func (s *Store) Renew(ctx context.Context, c store.Claim, progress []byte) (held bool, err error) {
	err = s.alone(ctx, func(tx *sql.Tx) error {
		v := Accepted(c)
		v["body"] = progress
		held, err = s.d.Statements().Renew.Changed(ctx, tx, v)
		if err != nil || held {
			return err
		}
		status, _, err := ScanStatus(s.d.Statements().Lookup.Row(ctx, tx, v))
		held = status.Record != nil && status.Record.State == store.StateAccepted && status.Record.Owner == c.Owner
		return err
	})
	if err != nil {
		return false, s.unavailable("renew the lease", err)
	}
	return held, nil
}

// Abandon implements [store.Worker].
func (s *Store) Abandon(ctx context.Context, c store.Claim) (held bool, err error) {
	return s.owned(ctx, s.d.Statements().Abandon, c)
}

// Resume implements [store.Worker].
func (s *Store) Resume(ctx context.Context, c store.Claim) (store.Tx, bool, error) {
	for {
		t, err := s.begin(ctx, c.MaxRun, s.d.Options())
		if err != nil {
			return nil, false, s.unavailable("begin", err)
		}
		t.claim = c
		var held bool
		t.claimed, held, err = s.d.Resume(ctx, t.q, c)
		if err == nil && held {
			return t, true, nil
		}
		victim := err != nil && s.d.Means(err) == Victim && ctx.Err() == nil
		_ = t.Rollback(ctx)
		if err == nil {
			return nil, false, nil
		}
		if !victim {
			return nil, false, s.unavailable("resume the work", err)
		}
		pause.For(ctx, rand.N(victimPause))
	}
}

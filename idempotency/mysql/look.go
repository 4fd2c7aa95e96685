package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Look implements [idempotency.Store]. In a session whose isolation is READ
// UNCOMMITTED it would see a reply that may yet be rolled back, and in one
// without autocommit what there was when an earlier look-up on the connection
// began a transaction: there it looks again in a transaction of the store's own.
func (s *Store) Look(ctx context.Context, c idempotency.Claim) (look idempotency.Look, err error) {
	look, unsure, err := s.lookOutside(ctx, c)
	if err == nil && unsure {
		look = idempotency.Look{}
		err = s.alone(ctx, c.MaxRun, func(t *tx) error {
			look, _, err = sqlkeys.LookByClock(t.q.QueryRowContext(ctx, s.sql.look.with(sqlkeys.Key(c.Key)...)))
			return none(err)
		})
	}
	if err != nil {
		return idempotency.Look{}, unavailable("look the key up", err)
	}
	return look, nil
}

// lookOutside looks outside of a transaction. unsure: what it has found may not
// be committed, or be so no more.
func (s *Store) lookOutside(ctx context.Context, c idempotency.Claim) (look idempotency.Look, unsure bool, err error) {
	for range s.sql.lookOutside {
		named := s.named.Load()
		row := s.db.QueryRowContext(ctx, s.sql.lookOutside[named].with(sqlkeys.Key(c.Key)...))
		look, _, err = sqlkeys.LookByClock(longer{row, &unsure})
		if code(err) != unknownVariable {
			break
		}
		s.named.CompareAndSwap(named, 1-named)
	}
	return look, unsure, err
}

// longer is a row with one more column.
type longer struct {
	sqlkeys.Row
	last any
}

func (r longer) Scan(into ...any) error { return r.Row.Scan(append(into, r.last)...) }

// none takes a key without a row for an answer.
func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

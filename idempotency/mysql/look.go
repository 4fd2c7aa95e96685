package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Look implements [idempotency.Store]. In a session whose isolation is READ
// UNCOMMITTED it would see a reply that may yet be rolled back: what it finds
// there it looks up again in a transaction of the store's own.
func (s *Store) Look(ctx context.Context, c idempotency.Claim) (look idempotency.Look, err error) {
	look, dirty, err := s.lookOutside(ctx, c)
	if err == nil && dirty {
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

// lookOutside looks outside of a transaction. dirty: what it has found may not
// be committed.
func (s *Store) lookOutside(ctx context.Context, c idempotency.Claim) (look idempotency.Look, dirty bool, err error) {
	for range s.sql.lookOutside {
		named := s.named.Load()
		row := s.db.QueryRowContext(ctx, s.sql.lookOutside[named].with(sqlkeys.Key(c.Key)...))
		look, _, err = sqlkeys.LookByClock(longer{row, &dirty})
		if code(err) != unknownVariable {
			break
		}
		s.named.CompareAndSwap(named, 1-named)
	}
	return look, dirty, none(err)
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

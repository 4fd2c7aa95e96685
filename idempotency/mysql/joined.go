package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// join claims the key in a savepoint of a transaction that was handed in. Its
// connection need not be of the store's pool, so it is told one thing at a time.
func (s *Store) join(ctx context.Context, q Querier, c idempotency.Claim) (*tx, idempotency.Look, error) {
	name := rand.Text()
	t := &tx{store: s, q: q, batches: singly, claimed: "idempotent_claim_" + name, working: "idempotent_work_" + name}
	if _, err := q.ExecContext(ctx, `SAVEPOINT `+t.claimed); err != nil {
		return nil, idempotency.Look{}, unavailable("begin", err)
	}
	look, err := t.claim(ctx, c)
	if err == nil {
		return t, look, nil
	}
	t.Rollback(ctx)
	if code(err) == deadlock && ctx.Err() == nil {
		return nil, idempotency.Look{}, fmt.Errorf("%w: %w", idempotency.ErrTxAborted, err)
	}
	return nil, idempotency.Look{}, unavailable("claim the key", err)
}

// claim places the key's row, after removing an expired one, or says who has
// it. The second savepoint tells later whether the work ended the transaction.
func (t *tx) claim(ctx context.Context, c idempotency.Claim) (look idempotency.Look, err error) {
	look, err = t.take(ctx, c, 0)
	if err == nil {
		look.Late, err = t.late(ctx, c)
	}
	if err == nil {
		_, err = t.q.ExecContext(ctx, `SAVEPOINT `+t.working)
	}
	return look, err
}

// late asks the clock whether the caller may have stopped asking.
func (t *tx) late(ctx context.Context, c idempotency.Claim) (late bool, err error) {
	if c.SendBefore.IsZero() {
		return false, nil
	}
	err = t.q.QueryRowContext(ctx, t.store.sql.late.with(sqlkeys.SendBefore(c))).Scan(&late)
	return late, err
}

// take places the key's row, in the place of an expired one too.
func (t *tx) take(ctx context.Context, c idempotency.Claim, lease time.Duration) (look idempotency.Look, err error) {
	for range 2 {
		look, expired, err := t.place(ctx, c, lease)
		if err != nil || !expired {
			return look, err
		}
		if _, err := t.q.ExecContext(ctx, t.store.sql.reclaim.with(sqlkeys.Key(c.Key)...)); err != nil {
			return look, err
		}
	}
	return idempotency.Look{}, nil // somebody placed theirs in between: in flight
}

// place inserts the key's row, or looks at the one that is there.
func (t *tx) place(ctx context.Context, c idempotency.Claim, lease time.Duration) (look idempotency.Look, expired bool, err error) {
	_, err = t.q.ExecContext(ctx, t.store.sql.placing(c, lease))
	switch code(err) {
	case duplicateKey:
		look, expired, err = sqlkeys.LookByClock(t.q.QueryRowContext(ctx, t.store.sql.lookLocked.with(sqlkeys.Key(c.Key)...)))
		if errors.Is(err, sql.ErrNoRows) || code(err) == lockWaitTimeout {
			return idempotency.Look{}, false, nil
		}
		return look, expired, err
	case lockWaitTimeout:
		return idempotency.Look{}, false, nil
	}
	return idempotency.Look{Held: err == nil}, false, err
}

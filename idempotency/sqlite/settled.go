package sqlite

import (
	"context"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// settled is no transaction: the key's reply is stored, and nothing is to be
// done.
type settled struct{}

func (settled) Context(ctx context.Context) context.Context { return ctx }
func (settled) Rollback(context.Context) error              { return nil }
func (settled) Commit(context.Context, idempotency.Claim, idempotency.Reply) (time.Time, error) {
	return time.Time{}, idempotency.ErrLostRace
}

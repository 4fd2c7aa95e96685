package simulate_test

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// unheld says that it holds a target, and holds another.
type unheld struct{ ledger.Store }

func (u unheld) ChangePause(ctx context.Context, c ledger.PauseChange) (ledger.Pause, error) {
	target := c.Target
	if c.Kind == ledger.PauseHold {
		c.Target = "none"
	}
	p, err := u.Store.ChangePause(ctx, c)
	if c.Kind == ledger.PauseHold {
		p.Target = target
	}
	return p, err
}

// unpaused says that it pauses jobs, and pauses others.
type unpaused struct{ ledger.Store }

func (u unpaused) ChangePause(ctx context.Context, c ledger.PauseChange) (ledger.Pause, error) {
	selector := c.Selector
	if c.ID == 0 && c.Kind != ledger.PauseHold {
		c.Selector = ledger.Selector{Job: "none"}
	}
	p, err := u.Store.ChangePause(ctx, c)
	if c.ID == 0 {
		p.Selector = selector
	}
	return p, err
}

// hurried runs backfills faster than it is asked to.
type hurried struct{ ledger.Store }

func (h hurried) Backfill(ctx context.Context, b ledger.BackfillRequest) (ledger.Backfilled, error) {
	b.Pace *= 10
	return h.Store.Backfill(ctx, b)
}

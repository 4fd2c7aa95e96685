package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// token makes the run of a trigger or rerun the same one whenever its request is
// repeated.
func token(ctx context.Context) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("cronce-api:"+idempotency.VendorKey(ctx))).String()
}

func (s *server) trigger(ctx context.Context, a *actRequest) (any, error) {
	e, err := s.ops.TriggerEntry(a.id, token(ctx), a.actor)
	if err != nil {
		return nil, err
	}
	return s.ops.Enter(ctx, e)
}

func (s *server) rerun(ctx context.Context, a *actRequest) (any, error) {
	e, err := s.ops.RerunEntry(ctx, operations.Rerun{RunID: a.id, Token: token(ctx), NewKey: a.NewKey, MayDouble: a.MayDouble, Actor: a.actor})
	if err != nil {
		return nil, err
	}
	return s.ops.Enter(ctx, e)
}

// entered, wasSet and acted find what a request had done whose answer was lost.
func (s *server) entered(ctx context.Context, a *actRequest) (any, bool, error) {
	return s.ops.Entered(ctx, a.actor.Request)
}

func (s *server) wasSet(state string) func(context.Context, *actRequest) (any, bool, error) {
	return func(ctx context.Context, a *actRequest) (any, bool, error) {
		return s.ops.WasSet(ctx, a.actor.Request, state)
	}
}

func (s *server) acted(ctx context.Context, a *actRequest) (any, bool, error) {
	return s.ops.Acted(ctx, a.actor.Request)
}

// repeated has a backfill go on where a lost request ended.
func (*server) repeated(_ context.Context, a *actRequest) (any, bool, error) {
	a.repeated = true
	return nil, false, nil
}

func (s *server) backfill(ctx context.Context, a *actRequest) (any, error) {
	if a.From == nil {
		return nil, invalid("a backfill needs its first time (from)")
	}
	to := time.Now()
	if a.To != nil {
		to = *a.To
	}
	return s.ops.Backfill(ctx, operations.Backfill{JobID: a.id, From: *a.From, To: to, Actor: a.actor, DryRun: a.DryRun, Repeated: a.repeated})
}

// MaxBulk bounds the runs of one act, each of which is in the answer.
const MaxBulk = 10_000

func (s *server) act(ctx context.Context, what operations.RunAct, a *actRequest) (any, error) {
	act := ledger.Act{
		Actor: a.actor, Force: a.Force, IncludeAcknowledged: a.IncludeAcknowledged, MayDouble: a.MayDouble, DryRun: a.DryRun,
		Filter: ledger.Filter{IDs: a.RunIDs, JobID: a.Job, States: a.State, Reason: a.Reason, Limit: operations.MaxPage},
	}
	if a.id != "" {
		act.IDs = []string{a.id}
	}
	if a.Since != nil {
		act.Since = *a.Since
	}
	if a.Until != nil {
		act.Until = *a.Until
	}
	if a.Limit != nil {
		act.Limit = *a.Limit
	}
	if err := checkSelection(act); err != nil {
		return nil, err
	}
	done, err := s.ops.Act(ctx, what, act)
	if err == nil && a.id != "" && len(done.Refused) == 1 && done.Refused[0].Cause == ledger.NotThere {
		return nil, problem(http.StatusNotFound, string(operations.UnknownRun), done.Refused[0].Why)
	}
	return done, err
}

func checkSelection(act ledger.Act) error {
	switch {
	case len(act.IDs) > operations.MaxPage:
		return invalid(fmt.Sprintf("runIds takes up to %d run IDs at once", operations.MaxPage))
	case act.Limit < 1 || act.Limit > MaxBulk:
		return invalid(fmt.Sprintf("limit must be from 1 to %d; repeat the act for more", MaxBulk))
	}
	for _, id := range act.IDs {
		if id == "" || len(id) > 300 || badText(id) {
			return invalid("runIds must be run IDs")
		}
	}
	for _, st := range act.States {
		if !slices.Contains(ledger.States, st) {
			return invalid(fmt.Sprintf("unknown state %q", st))
		}
	}
	if act.Reason != "" && !slices.Contains(ledger.Reasons, act.Reason) {
		return invalid(fmt.Sprintf("unknown reason %q", act.Reason))
	}
	return nil
}

package api

import (
	"cmp"
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
	done, found, err := s.ops.Acted(ctx, a.actor.Request)
	return a.part(done), found, err
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

// actPart is what a request did of an action that may take several.
type actPart struct {
	operations.RunActionResult
	// Next is the cursor of the next request, "" after the last; Request is what a
	// further part of a redrive continues.
	Next    string `json:"next,omitempty"`
	Request string `json:"request,omitempty"`
}

// limit is how many runs the request may change.
func (a *actRequest) limit() int {
	if a.Limit == nil {
		return operations.MaxPage
	}
	return *a.Limit
}

func (a *actRequest) part(done operations.RunActionResult) actPart {
	p := actPart{RunActionResult: done}
	p.Refused = p.Refused[:min(len(p.Refused), operations.MaxPart)]
	if a.id != "" {
		return p
	}
	p.Request = cmp.Or(a.Continues, a.actor.Request)
	if n := len(p.Changed); len(a.RunIDs) == 0 && n > 0 && n == a.limit() {
		last := p.Changed[n-1]
		at, _ := time.Parse(time.RFC3339, last.ScheduledAt) // written by operations
		p.Next = position{List: "acts", At: at.Unix(), ID: last.RunID}.String()
	}
	return p
}

func (s *server) act(ctx context.Context, what operations.RunAction, a *actRequest) (any, error) {
	act := ledger.Action{
		Actor: a.actor, Force: a.Force, IncludeAcknowledged: a.IncludeAcknowledged, MayDouble: a.MayDouble, DryRun: a.DryRun,
		Filter:    ledger.Filter{IDs: a.RunIDs, JobID: a.Job, States: a.State, Reason: a.Reason, Limit: a.limit()},
		Continues: a.Continues,
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
	if a.Cursor != "" {
		p, err := parsePosition(a.Cursor, "acts")
		if err != nil {
			return nil, err
		}
		act.After = &ledger.Cursor{ScheduledAt: time.Unix(p.At, 0).UTC(), ID: p.ID}
	}
	if err := checkSelection(act); err != nil {
		return nil, err
	}
	done, err := s.ops.Act(ctx, what, act)
	if err == nil && a.id != "" && len(done.Refused) == 1 && done.Refused[0].Cause == ledger.RejectedNotFound {
		return nil, problem(http.StatusNotFound, string(operations.UnknownRun), done.Refused[0].Why)
	}
	return a.part(done), err
}

func checkSelection(act ledger.Action) error {
	switch {
	case len(act.IDs) > operations.MaxPage:
		return invalid(fmt.Sprintf("runIds takes up to %d run IDs at once", operations.MaxPage))
	case act.Limit < 1 || act.Limit > operations.MaxPart:
		return invalid(fmt.Sprintf("limit must be from 1 to %d; send next of the answer as cursor for more", operations.MaxPart))
	case len(act.Continues) > 100 || badText(act.Continues):
		return invalid("continues must be the request of an answer")
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

package operations

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// RunAction is the name of an action on runs that exist: Cancel, Redrive or Ack.
type RunAction string

// MaxPart bounds the runs that one transaction changes. The planner waits for each: of a
// million runs in SQLite, 1,000 take up to half a second, and 10,000 take three.
const MaxPart = 1_000

// RunActionResult lists the runs that an action changed and refused; of a dry run, those that it would.
type RunActionResult struct {
	DryRun  bool         `json:"dryRun"`
	Changed []Run        `json:"changed"`
	Refused []Rejection  `json:"refused"`
	Counts  ActionCounts `json:"counts"`
	// Remaining is the number of further runs that the filter selects: requests of the series
	// change them.
	Remaining int `json:"remaining"`
}

// ActionCounts counts by cause: LeftOut has the refused runs and those that an action by
// a filter leaves out.
type ActionCounts struct {
	Changed int                           `json:"changed"`
	LeftOut map[ledger.RejectionCause]int `json:"leftOut"`
}

// AllLeftOut returns the number of runs that were left out for any cause.
func (c ActionCounts) AllLeftOut() (n int) {
	for _, count := range c.LeftOut {
		n += count
	}
	return n
}

// Rejection is a run that an action refused, and why.
type Rejection struct {
	RunID string                `json:"runId"`
	Cause ledger.RejectionCause `json:"cause"`
	Why   string                `json:"why"`
}

// ActOnRuns does an action to the runs that it selects: by IDs in any form that FindRun takes, or by a filter of jobs
// or of a parent's members. A filter must say at least a job, an owner, a label, a target, a reason or a time, or the
// states of runs to cancel. It changes up to MaxPart runs; Remaining has the number of the others.
func (s *Service) ActOnRuns(ctx context.Context, what RunAction, sel Selection, action ledger.Action) (RunActionResult, error) {
	if err := s.resolve(ctx, what, sel, &action); err != nil {
		return RunActionResult{}, err
	}
	got, err := s.actOnce(ctx, what, action)
	v := runActionResultOf(ctx, got, action.DryRun)
	if err == nil && notFound(action, got) {
		if why := s.missing(ctx, action.IDs[0]); why != "" {
			v.Refused[0].Why = "the ledger has no such run: " + why
		}
	}
	return v, err
}

// resolve checks what an action selects and who does it, and writes the selection as the ledger takes it.
func (s *Service) resolve(ctx context.Context, what RunAction, sel Selection, action *ledger.Action) (err error) {
	if action.IDs, err = s.findRuns(ctx, action.IDs); err != nil {
		return err
	}
	if err := what.checkSelection(sel, *action); err != nil {
		return err
	}
	if action.Parent != "" {
		parent, err := s.parent(ctx, action.Parent)
		if err != nil {
			return err
		}
		action.Parent = parent.ID
	}
	if !action.DryRun {
		if err := checkActor(action.Actor); err != nil {
			return err
		}
	}
	if err := s.Narrow(ctx, sel, &action.Filter); err != nil {
		return err
	}
	if action.Limit < 1 {
		action.Limit = MaxPart
	}
	return s.KnownJob(ctx, action.JobID)
}

// actOnce does an action in the ledger. A request under a key is done once, and the audit keeps its
// answer for a repetition. An action on one run that the ledger does not have is not kept: the run
// may be planned later, and the same request must then act on it. So the answer's encoder, which
// the ledger calls inside the transaction, fails with errNotKept, and the transaction is rolled
// back; refused has what the ledger found. A rollback comes before the ledger notices that the key
// was used, so keyIsFree looks it up: after ErrRepeated, Do returns the answer that the audit has.
func (s *Service) actOnce(ctx context.Context, what RunAction, action ledger.Action) (ledger.ActionResult, error) {
	do := map[RunAction]func(context.Context, ledger.Action) (ledger.ActionResult, error){
		Cancel: s.ledger.Cancel, Redrive: s.ledger.Redrive, Ack: s.ledger.Ack,
	}[what]
	if do == nil {
		return ledger.ActionResult{}, unknownName("action", what, Cancel, Redrive, Ack)
	}
	var refused ledger.ActionResult
	keep(action.Actor, func(got ledger.ActionResult) (any, error) {
		refused = got
		if notFound(action, got) {
			return nil, errNotKept
		}
		return runActionResultOf(ctx, got, false), nil
	})
	got, err := do(ctx, action)
	if errors.Is(err, errNotKept) {
		return refused, s.keyIsFree(ctx, action.Actor)
	}
	return got, err
}

// notFound reports that the ledger does not have the one run that an action is for.
func notFound(action ledger.Action, got ledger.ActionResult) bool {
	return len(action.IDs) == 1 && len(got.Rejected) == 1 && got.Rejected[0].Cause == ledger.RejectedNotFound
}

// errNotKept keeps a request out of the audit, which leaves its key free: see actOnce.
var errNotKept = errors.New("the ledger has no such run")

// keyIsFree returns ErrRepeated if the audit has a request under this key: the run may have been
// purged since that request acted on it.
func (s *Service) keyIsFree(ctx context.Context, who ledger.Actor) error {
	if who.Request == nil || who.Request.Key == "" {
		return nil
	}
	_, found, err := s.ledger.FindAnswer(ctx, *who.Request)
	if found {
		return ledger.ErrRepeated
	}
	return err
}

// ActOnAll does an action on as many runs as it selects, up to its limit. It calls do with requests of one series, so
// that the audit has one action. After an error the result has what the requests before it did.
func ActOnAll(ctx context.Context, ask ActionRequest, do func(context.Context, ActionRequest) (RunActionResult, error)) (RunActionResult, error) {
	all, limit := NewRunActionResult(ask.DryRun), math.MaxInt
	if ask.Limit != nil {
		limit = *ask.Limit
	}
	ask.Series = NewToken()
	selections := [][]string{nil} // by the filter
	if len(ask.RunIDs) > 0 {
		selections = slices.Collect(slices.Chunk(ask.RunIDs, MaxPart))
	}
	for _, ask.RunIDs = range selections {
		if all.Counts.Changed >= limit {
			break
		}
		for before, more := math.MaxInt, true; more; more = all.Remaining > 0 && all.Counts.Changed < limit && !ask.DryRun {
			if ask.Limit != nil {
				ask.Limit = new(min(limit-all.Counts.Changed, MaxPart))
			}
			part, err := do(ctx, ask)
			if err != nil {
				return all, err
			}
			// A filter may gain runs as fast as it loses them, and a server may be of another version.
			all.add(part)
			if all.Remaining > 0 && all.Remaining >= before {
				return all, fmt.Errorf("%d runs are left, and a request did not make them fewer; repeat the action to go on", all.Remaining)
			}
			before = all.Remaining
		}
	}
	return all, nil
}

// NewRunActionResult returns the result of an action that has done nothing yet.
func NewRunActionResult(dryRun bool) RunActionResult {
	return RunActionResult{
		DryRun: dryRun, Changed: []Run{}, Refused: []Rejection{}, Counts: ActionCounts{LeftOut: map[ledger.RejectionCause]int{}},
	}
}

// add adds the result of a further request.
func (all *RunActionResult) add(part RunActionResult) {
	all.Changed, all.Refused = append(all.Changed, part.Changed...), append(all.Refused, part.Refused...)
	all.Counts.Changed += part.Counts.Changed
	all.Remaining = part.Remaining
	for cause, n := range part.Counts.LeftOut {
		all.Counts.LeftOut[cause] += n
	}
}

// checkSelection refuses an action that selects all runs, or none: most come from a variable that is
// not set.
func (what RunAction) checkSelection(sel Selection, action ledger.Action) error {
	if what == Cancel {
		if err := CheckCancelable(action.States); err != nil {
			return err
		}
	}
	switch {
	case action.Parent != "" && (!sel.IsZero() || len(action.IDs) > 0):
		return refuse(Invalid, "the action selects members of one run (parent), so it takes no run IDs, job, owner, label or target")
	case what.Selects(sel, action.Filter):
		return nil
	case what == Cancel:
		return refuse(Invalid,
			"the action selects no runs; name their run IDs, or a job, an owner, a label, a target, a state, a reason, a time, "+
				"or a run with members (parent)")
	}
	return refuse(Invalid,
		"the action selects no runs; name their run IDs, or a job, an owner, a label, a target, a reason, a time, or a run with members (parent)")
}

// CheckCancelable refuses states whose runs cannot be canceled: an action on them would
// do nothing and look like a success.
func CheckCancelable(states []ledger.State) error {
	for _, s := range states {
		if !slices.Contains(ledger.Unfinished, s) {
			return refuse(Invalid, "runs of state %q cannot be canceled; valid states: %s", s, strings.Join(Texts(ledger.Unfinished), ", "))
		}
	}
	return nil
}

// Texts returns the names of a list such as ledger.States as strings.
func Texts[T ~string](names []T) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = string(name)
	}
	return list
}

// Selects reports whether an action says which runs it is for. That runs are dead says
// too little: it is all that could be redriven or acknowledged.
func (what RunAction) Selects(sel Selection, f ledger.Filter) bool {
	return len(f.IDs) > 0 || f.Parent != "" || !sel.IsZero() || f.Reason != "" || !f.Since.IsZero() || !f.Until.IsZero() ||
		what == Cancel && len(f.States) > 0
}

func runActionResultOf(ctx context.Context, done ledger.ActionResult, dryRun bool) RunActionResult {
	v := NewRunActionResult(dryRun)
	v.Changed, v.Counts.Changed, v.Remaining = runsOf(ctx, done.Changed), len(done.Changed), done.Remaining
	for cause, n := range done.LeftOut {
		v.Counts.LeftOut[cause] += n
	}
	for _, r := range done.Rejected {
		v.Counts.LeftOut[r.Cause]++
		v.Refused = append(v.Refused, Rejection{r.RunID, r.Cause, r.Why})
	}
	v.Refused = v.Refused[:min(len(v.Refused), MaxPart)] // the counts have all of them
	return v
}

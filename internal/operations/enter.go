package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// NewToken returns a new random text for the part of a run ID that makes a trigger or a rerun new work.
func NewToken() string { return uuid.Must(uuid.NewV7()).String() }

// TriggerEntry returns the entry of a run that starts now, beside the job's schedule. It writes nothing: Enter does,
// and a preview only looks.
func (s *Service) TriggerEntry(ctx context.Context, jobID string, who ledger.Actor) (ledger.Entry, error) {
	if err := checkActor(who); err != nil {
		return ledger.Entry{}, err
	}
	j, err := s.callable(ctx, jobID, "")
	if err != nil {
		return ledger.Entry{}, err
	}
	now := s.now().UTC().Truncate(time.Second)
	id := jobs.RunIDWithToken(j.ID, now, NewToken())
	return ledger.Entry{
		JobID: j.ID, Actor: who,
		RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: now, Count: 1, State: ledger.Planned, Trigger: ledger.ByOperator,
			Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, now),
		},
	}, nil
}

// RerunEntry returns the entry of the run that repeats a finished run as new work, under a new key. It writes nothing,
// as TriggerEntry. runID may have any form that FindRun takes.
func (s *Service) RerunEntry(ctx context.Context, runID string, a ActionRequest, who ledger.Actor) (ledger.Entry, error) {
	if !a.NewKey {
		return ledger.Entry{}, refuse(Invalid,
			"a rerun makes new work under a new key; confirm it with newKey (--new-key), or retry the run under its own key with redrive")
	}
	if err := checkActor(who); err != nil {
		return ledger.Entry{}, err
	}
	id, err := s.FindRun(ctx, runID)
	if err != nil {
		return ledger.Entry{}, err
	}
	run, attempts, err := s.ledger.Get(ctx, id)
	if err != nil {
		return ledger.Entry{}, s.notFound(ctx, id, err)
	}
	if err := mayRerun(run, attempts, a.MayDouble); err != nil {
		return ledger.Entry{}, err
	}
	reg, err := s.registry()
	if err != nil {
		return ledger.Entry{}, err
	}
	capKeyTimes(&run.Call, reg, run.JobID)
	return ledger.Entry{
		JobID: run.JobID, Actor: who, RerunOf: run.ID, MayDouble: a.MayDouble,
		RunSpec: ledger.RunSpec{
			RunID: jobs.RunIDWithToken(run.JobID, run.ScheduledAt, NewToken()), ScheduledAt: run.ScheduledAt.Truncate(time.Second),
			Count: 1, State: ledger.Planned, Trigger: ledger.ByRerun, Overlap: ledger.OverlapAllow, Call: run.Call,
		},
	}, nil
}

// capKeyTimes has a frozen call sent no longer than the job's present definition allows: the target
// may keep keys for less time since.
func capKeyTimes(c *ledger.CallSpec, reg *jobs.Registry, jobID string) {
	id := ledger.RegistryJobID(jobID)
	j, known := reg.Job(id)
	if !known {
		t, isTemplate := reg.Template(id)
		j, known = t.Job, isTemplate
	}
	if known {
		c.Horizon, c.KeySafeFor = min(c.Horizon, j.Retry.Horizon), min(c.KeySafeFor, j.KeySafeFor())
	}
}

// Enter writes the entry of TriggerEntry or RerunEntry. A process that serves then makes its calls. Repeated with the
// same entry, it returns the run that it wrote.
func (s *Service) Enter(ctx context.Context, e ledger.Entry) (Run, error) {
	// A rerun has the frozen call of its run, whose target may have been removed since.
	if err := s.servedTarget(e.Call.Target); err != nil {
		return Run{}, err
	}
	keep(e.Actor, func(got ledger.Entered) (any, error) { return RunOf(ctx, got.Run), nil })
	got, err := s.ledger.Enter(ctx, e)
	if errors.Is(err, ledger.ErrCannotRerun) {
		return Run{}, refuse(Conflict, "%v", err)
	}
	return RunOf(ctx, got.Run), err
}

// servedTarget refuses work that no process could send anywhere.
func (s *Service) servedTarget(name string) error {
	reg, err := s.registry()
	if err != nil {
		return err
	}
	if _, ok := reg.Target(name); !ok && name != jobs.BuiltinTarget {
		return refuse(Conflict, "the registry has no target %q, which the run's call goes to; put it back first", name)
	}
	return nil
}

// mayRerun refuses a run that a rerun cannot repeat, and one whose effect may then be made twice, unless mayDouble
// confirms that: a new key hides from the target that the work was done. A run that succeeded and was not rerun needs
// no confirmation, as doing its work again is the purpose.
func mayRerun(run ledger.Run, attempts []ledger.Attempt, mayDouble bool) error {
	switch {
	case run.Count > 1:
		return refuse(Conflict, "%s is the row of %d scheduled times, which a rerun cannot repeat; run them with \"cronce backfill %s\"",
			run.ID, run.Count, run.JobID)
	case !run.State.Finished():
		return refuse(Conflict, "%s is %s; wait for its end, or cancel it first", run.ID, run.State)
	case run.Call.Method == "":
		return refuse(Conflict, "%s never ran; run it under its own id with \"cronce backfill %s\"", run.ID, run.JobID)
	case !mayDouble && run.RerunID != "":
		return refuse(Conflict, "%s was already rerun as %s; act on that run, or set mayDouble (--may-double)", run.ID, run.RerunID)
	case !mayDouble && run.State != ledger.Succeeded && run.Fan.Frozen():
		return refuse(Conflict, "%s has members that may have been applied, and a rerun calls all of them under new keys; %s",
			run.ID, underItsKey(run))
	case !mayDouble && run.State != ledger.Succeeded && unknownOutcome(attempts):
		return refuse(Conflict, "%s may have been applied: an attempt's outcome is unknown; %s", run.ID, underItsKey(run))
	}
	return nil
}

// underItsKey says how to retry a finished run without new work, where that is possible, and how
// to rerun it anyway.
func underItsKey(run ledger.Run) string {
	const anyway = "set mayDouble (--may-double)"
	switch {
	case run.State == ledger.Dead:
		return `retry it under its own key with "cronce runs redrive", or ` + anyway
	case run.State == ledger.Canceled && !strings.Contains(run.ID, "~"):
		return fmt.Sprintf("run it under its own key with \"cronce backfill %s\", or %s", run.JobID, anyway)
	}
	return "check at the target what became of it, then " + anyway
}

// unknownOutcome reports whether an attempt may have had its effect without
// this side having heard of it: also one that a gateway gave up, and long work that the target
// accepted and never ended.
func unknownOutcome(attempts []ledger.Attempt) bool {
	accepted := false
	for _, at := range attempts {
		switch at.Answer {
		case ledger.AnswerUnknown, ledger.AnswerLost, ledger.AnswerInProgress:
			return true
		case ledger.AnswerAccepted:
			accepted = true
		case ledger.AnswerRefused:
			accepted = false
		}
		switch {
		case at.Status == http.StatusRequestTimeout, at.Status == http.StatusBadGateway, at.Status == http.StatusGatewayTimeout,
			at.Code == codeOutcomeUnknown, at.Code == codeTxEnded, at.Code == codeStoreUnavailable:
			return true
		}
	}
	return accepted
}

// Problem codes of targets that use the kit.
const (
	codeOutcomeUnknown = "idempotency_outcome_unknown"
	codeTxEnded        = "transaction_ended_by_handler"
	// The key store was down, or the answer to its commit was lost.
	codeStoreUnavailable = "idempotency_store_unavailable"
)

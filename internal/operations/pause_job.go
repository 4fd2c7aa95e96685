package operations

import (
	"cmp"
	"context"
	"errors"

	"github.com/cronce/cronce/ledger"
)

// JobActionResult is the state of a job after an action.
type JobActionResult struct {
	JobID string `json:"jobId"`
	State string `json:"state"` // paused or resumed
}

// Pause makes the job's scheduled times skipped (paused) until Resume.
func (s *Service) Pause(ctx context.Context, jobID string, who ledger.Actor) (JobActionResult, error) {
	return s.setPaused(ctx, jobID, who, s.ledger.PauseJob, "paused")
}

// Resume ends a pause.
func (s *Service) Resume(ctx context.Context, jobID string, who ledger.Actor) (JobActionResult, error) {
	return s.setPaused(ctx, jobID, who, s.ledger.ResumeJob, "resumed")
}

// setPaused pauses or resumes a job of the ledger. A job that the registry has and no process has served yet is
// refused: it has no row to pause.
func (s *Service) setPaused(
	ctx context.Context, jobID string, who ledger.Actor, do func(context.Context, string, ledger.Actor) error, state string,
) (JobActionResult, error) {
	if err := checkActor(who); err != nil {
		return JobActionResult{}, err
	}
	keep(who, func(any) (any, error) { return JobActionResult{jobID, state}, nil })
	switch err := do(ctx, jobID, who); {
	case errors.Is(err, ledger.ErrNotFound):
		return JobActionResult{}, cmp.Or(s.KnownJob(ctx, jobID), notServed(jobID))
	case err != nil:
		return JobActionResult{}, err
	}
	return JobActionResult{jobID, state}, nil
}

package operations

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// RunAct is what an operator does to runs that exist.
type RunAct string

const (
	Cancel  RunAct = "cancel"
	Redrive RunAct = "redrive"
	Ack     RunAct = "ack"
)

// Acted is what an act did to runs; of a dry run, what it would have done.
type Acted struct {
	DryRun  bool        `json:"dryRun"`
	Changed []Run       `json:"changed"`
	Refused []Rejection `json:"refused"`
	Counts  ActCounts   `json:"counts"`
}

// ActCounts counts by cause: LeftOut has the refused runs and those that an act by
// a filter leaves out as settled.
type ActCounts struct {
	Changed int                  `json:"changed"`
	LeftOut map[ledger.Cause]int `json:"leftOut"`
}

// Rejection is a run that an act refused, and why.
type Rejection struct {
	RunID string       `json:"runId"`
	Cause ledger.Cause `json:"cause"`
	Why   string       `json:"why"`
}

// Act does something to the runs that the act selects: by IDs, or by a filter that
// says at least a job, a reason or a time.
func (s *Service) Act(ctx context.Context, what RunAct, act ledger.Act) (Acted, error) {
	if len(act.IDs) == 0 && act.JobID == "" && act.Reason == "" && act.Since.IsZero() && act.Until.IsZero() {
		return Acted{}, refuse(Invalid, "the act selects no runs; name their run IDs, or a job, a reason or a time")
	}
	if !act.DryRun {
		if err := checkActor(act.Actor); err != nil {
			return Acted{}, err
		}
	}
	do := map[RunAct]func(context.Context, ledger.Act) (ledger.Acted, error){Cancel: s.ledger.Cancel, Redrive: s.ledger.Redrive, Ack: s.ledger.Ack}[what]
	if do == nil {
		return Acted{}, refuse(Invalid, "unknown act %q; valid acts: cancel, redrive, ack", what)
	}
	if err := s.KnownJob(ctx, act.JobID); err != nil {
		return Acted{}, err
	}
	done, err := do(ctx, act)
	if err != nil {
		return Acted{}, err
	}
	return actedOf(done, act.DryRun), nil
}

func actedOf(done ledger.Acted, dryRun bool) Acted {
	v := Acted{DryRun: dryRun, Changed: runsOf(done.Changed), Refused: []Rejection{}, Counts: ActCounts{len(done.Changed), map[ledger.Cause]int{}}}
	for cause, n := range done.LeftOut {
		v.Counts.LeftOut[cause] += n
	}
	for _, r := range done.Refused {
		v.Counts.LeftOut[r.Cause]++
		v.Refused = append(v.Refused, Rejection{r.RunID, r.Cause, r.Why})
	}
	return v
}

// checkActor refuses an act without who and why: they are kept in the audit.
func checkActor(a ledger.Actor) error {
	switch {
	case strings.TrimSpace(a.Why) == "":
		return refuse(Invalid, "an act needs a reason (why); it is kept in the ledger")
	case strings.TrimSpace(a.By) == "":
		return refuse(Invalid, "an act needs the name of whoever acts (by); it is kept in the ledger")
	}
	return nil
}

// JobActed is what an act made of a job.
type JobActed struct {
	JobID string `json:"jobId"`
	State string `json:"state"` // paused or resumed
}

// Pause makes the job's scheduled times skipped (paused) until Resume.
func (s *Service) Pause(ctx context.Context, jobID string, who ledger.Actor) (JobActed, error) {
	return s.setPaused(ctx, jobID, who, s.ledger.Pause, "paused")
}

// Resume ends a pause.
func (s *Service) Resume(ctx context.Context, jobID string, who ledger.Actor) (JobActed, error) {
	return s.setPaused(ctx, jobID, who, s.ledger.Resume, "resumed")
}

func (s *Service) setPaused(ctx context.Context, jobID string, who ledger.Actor, act func(context.Context, string, ledger.Actor) error, state string) (JobActed, error) {
	if err := checkActor(who); err != nil {
		return JobActed{}, err
	}
	switch err := act(ctx, jobID, who); {
	case errors.Is(err, ledger.ErrNotFound):
		return JobActed{}, cmp.Or(s.KnownJob(ctx, jobID), notServed(jobID))
	case err != nil:
		return JobActed{}, err
	}
	return JobActed{jobID, state}, nil
}

// unknownOutcome reports whether an attempt may have had its effect without
// this side having heard of it.
func unknownOutcome(attempts []ledger.Attempt) bool {
	return slices.ContainsFunc(attempts, func(at ledger.Attempt) bool {
		return at.Answer == ledger.Unknown || at.Answer == ledger.Lost || at.Answer == ledger.InProgress
	})
}

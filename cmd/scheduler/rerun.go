package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func (a *app) rerunCommand() *cobra.Command {
	var w who
	var newKey, mayDouble bool
	c := &cobra.Command{
		Use:   "rerun RUN-ID --new-key --why REASON",
		Short: "Repeat a finished run as new work, under a new key",
		Long: `rerun makes a new run with a new run ID (with ~), and so a new key, and the
request of the run that it repeats. The target applies it again. --may-double is
required if the work may have been done: the outcome of the run is unknown (its
last attempt timed out or was lost), or it was rerun before.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !newKey {
				return usage("rerun makes new work under a new key; say so with --new-key, or ask again under the old one with \"cronce runs redrive\"")
			}
			if err := w.check(); err != nil {
				return err
			}
			return a.rerun(c, canonicalRunID(args[0]), w, mayDouble)
		},
	}
	w.flags(c, a)
	c.Flags().BoolVar(&newKey, "new-key", false, "confirm that this is new work (required)")
	c.Flags().BoolVar(&mayDouble, "may-double", false, "repeat it although the work may have been done")
	return c
}

func (a *app) rerun(c *cobra.Command, runID string, w who, mayDouble bool) error {
	reg, err := a.soundRegistry()
	if err != nil {
		return err
	}
	s, err := a.existingLedger(c.Context())
	if err != nil {
		return err
	}
	run, attempts, err := s.Get(c.Context(), runID)
	s.Close()
	if err != nil {
		return notFound(runID, err)
	}
	if err := mayRerun(run, attempts, mayDouble); err != nil {
		return err
	}
	if err := a.reachable(reg, run.Call.Target); err != nil {
		return err
	}
	id := jobs.RunIDWithToken(run.JobID, run.ScheduledAt, uuid.Must(uuid.NewV7()).String())
	return a.drive(c.Context(), reg, ledger.Entry{
		JobID: run.JobID,
		RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: run.ScheduledAt.Truncate(time.Second), Count: 1, State: ledger.Planned,
			Trigger: ledger.ByRerun, Overlap: ledger.OverlapAllow, Call: run.Call, Lease: true,
		},
		Actor: w.actor(), RerunOf: run.ID, MayDouble: mayDouble,
	})
}

func mayRerun(run ledger.Run, attempts []ledger.Attempt, mayDouble bool) error {
	switch {
	case run.Count > 1:
		return fmt.Errorf("%s stands for %d scheduled times; run them with \"cronce backfill %s\"", run.ID, run.Count, run.JobID)
	case !run.State.Finished():
		return fmt.Errorf("%s is %s; wait for its end, or cancel it first", run.ID, run.State)
	case run.Call.Method == "":
		return fmt.Errorf("%s never ran; run it under its own id with \"cronce backfill %s\"", run.ID, run.JobID)
	case !mayDouble && run.RerunID != "":
		return fmt.Errorf("%s was rerun as %s: act on that run, or say --may-double", run.ID, run.RerunID)
	case !mayDouble && run.State != ledger.Succeeded && unknownOutcome(attempts):
		return fmt.Errorf("%s may have been applied: an attempt's outcome is unknown; %s--may-double", run.ID, underItsKey(run))
	}
	return nil
}

// underItsKey says how to ask again for a finished run without new work, where
// there is a way.
func underItsKey(run ledger.Run) string {
	switch {
	case run.State == ledger.Dead:
		return `ask again under its own key with "cronce runs redrive", or say `
	case run.State == ledger.Canceled && !strings.Contains(run.ID, "~"):
		return fmt.Sprintf("ask again under its own key with \"cronce backfill %s\", or say ", run.JobID)
	}
	return "ask the target what became of it, then say "
}

// unknownOutcome reports whether an attempt may have had its effect without
// this side having heard of it.
func unknownOutcome(attempts []ledger.Attempt) bool {
	for _, at := range attempts {
		if at.Answer == ledger.Unknown || at.Answer == ledger.Lost || at.Answer == ledger.InProgress {
			return true
		}
	}
	return false
}

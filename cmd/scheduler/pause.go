package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// who are the flags of every command that changes a run or a job by hand.
type who struct{ by, why string }

func (w *who) flags(c *cobra.Command, a *app) {
	c.Flags().StringVar(&w.by, "by", a.env("USER", ""), "who does this, kept in the ledger (default $USER)")
	c.Flags().StringVar(&w.why, "why", "", "why, kept in the ledger (required)")
}

func (w *who) check() error {
	if w.by == "" || w.why == "" {
		return usage("say who and why: --by NAME --why \"...\"; both are kept in the ledger")
	}
	return nil
}

func (a *app) pauseCommand() *cobra.Command {
	var w who
	c := &cobra.Command{
		Use:   "pause JOB --why REASON",
		Short: "Skip a job's instants from now on; each is recorded as skipped (paused)",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return a.setPaused(c, args[0], w, true) },
	}
	w.flags(c, a)
	return c
}

func (a *app) resumeCommand() *cobra.Command {
	var w who
	c := &cobra.Command{
		Use:   "resume JOB --why REASON",
		Short: "Run a paused job's instants again, from now on; what was skipped stays skipped (see backfill)",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return a.setPaused(c, args[0], w, false) },
	}
	w.flags(c, a)
	return c
}

func (a *app) setPaused(c *cobra.Command, jobID string, w who, paused bool) error {
	if err := w.check(); err != nil {
		return err
	}
	s, err := a.existingLedger(c.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	act, done := s.Resume, "resumed"
	if paused {
		act, done = s.Pause, "paused"
	}
	if err := act(c.Context(), jobID, w.by, w.why); err != nil {
		return fmt.Errorf("job %q: %w; a job is known to the ledger once a scheduler has seen it", jobID, err)
	}
	if a.json {
		return printJSON(a.out, map[string]string{"jobId": jobID, "state": done})
	}
	_, err = fmt.Fprintf(a.out, "%s %s\n", jobID, done)
	return err
}

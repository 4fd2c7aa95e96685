package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/ledger"
)

func (a *app) runsCommand() *cobra.Command {
	c := &cobra.Command{Use: "runs", Short: "List and show runs, and act on them", Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(a.runsListCommand(), a.runsShowCommand())
	c.AddCommand(a.runsActCommands()...)
	return c
}

// selection are the flags that select runs.
type selection struct {
	job, reason, since, until string
	states                    []string
	limit                     int
}

func (s *selection) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.job, "job", "", "only runs of this `job`")
	c.Flags().StringVar(&s.reason, "reason", "", "only runs with this `reason`, e.g. exhausted")
	c.Flags().StringVar(&s.since, "since", "", "only runs scheduled at or after this `time` ("+timeHelp+")")
	c.Flags().StringVar(&s.until, "until", "", "only runs scheduled before this `time`")
}

func (s *selection) filter(now time.Time) (ledger.Filter, error) {
	f := ledger.Filter{JobID: s.job, Limit: s.limit}
	var err error
	if s.reason != "" {
		if f.Reason, err = oneOf("reason", s.reason, ledger.Reasons); err != nil {
			return f, err
		}
	}
	if f.Since, err = timeOrAge("since", s.since, now); err != nil {
		return f, err
	}
	if f.Until, err = timeOrAge("until", s.until, now); err != nil {
		return f, err
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return f, usage("--until is not after --since; nothing lies between them")
	}
	for _, name := range s.states {
		state, err := oneOf("state", name, ledger.States)
		if err != nil {
			return f, err
		}
		f.States = append(f.States, state)
	}
	return f, nil
}

func (a *app) runsListCommand() *cobra.Command {
	var s selection
	c := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest scheduled time first",
		Example: `  cronce runs list --state dead
  cronce runs list --job release-commission-locks --since 24h --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := s.filter(a.now())
			if err != nil {
				return err
			}
			if f.Limit < 1 {
				return usage("--limit %d: give a number from 1 on", f.Limit)
			}
			l, err := a.ledgerToRead(c.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			runs, err := l.List(c.Context(), f)
			if err == nil && len(runs) == 0 {
				err = a.operationsOn(l).KnownJob(c.Context(), f.JobID)
			}
			if err != nil {
				return err
			}
			waiters := make([]*ledger.Run, len(runs))
			for i := range runs {
				waiters[i] = &runs[i]
			}
			if err := addWaiting(c.Context(), l, waiters...); err != nil {
				return err
			}
			return a.printRuns(runs)
		},
	}
	s.flags(c)
	c.Flags().StringSliceVar(&s.states, "state", nil, "only runs in these `states`, e.g. dead,missed")
	c.Flags().IntVar(&s.limit, "limit", 100, "maximum number of runs")
	return c
}

// printRuns shows, where a run that waits has no reason, why it does.
func (a *app) printRuns(runs []ledger.Run) error {
	if a.json {
		return printJSON(a.out, runsJSON(runs))
	}
	t := a.table("RUN", "STATE", "REASON", "TRIGGER", "ATTEMPTS", "REPLAYED", "FINISHED").
		Optional("REASON", "FINISHED", "TRIGGER", "ATTEMPTS", "REPLAYED").Folding("REASON")
	for _, r := range runs {
		t.Row(r.ID, stateText(r), cmp.Or(string(r.Reason), r.WaitsFor.String()), string(r.Trigger), strconv.Itoa(r.Attempt), strconv.FormatBool(r.Replayed), moment(r.FinishedAt))
	}
	return t.Flush()
}

func stateText(r ledger.Run) string {
	if r.Count > 1 {
		return fmt.Sprintf("%s (%d times)", r.State, r.Count)
	}
	return string(r.State)
}

type attemptJSON struct {
	Attempt    int           `json:"attempt"`
	StartedAt  string        `json:"startedAt"`
	FinishedAt string        `json:"finishedAt"`
	Answer     ledger.Answer `json:"answer"`
	Status     int           `json:"status"`
	Code       string        `json:"code,omitempty"`
	Error      string        `json:"error,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	Owner      string        `json:"owner"`
}

type shownRun struct {
	runJSON
	Target  string        `json:"target"`
	Method  string        `json:"method"`
	Path    string        `json:"path"`
	History []attemptJSON `json:"history"`
	Acts    []actJSON     `json:"acts"` // of operators, oldest first
}

func (a *app) runsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN-ID",
		Short: "Show one run with its attempts and the acts of operators",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := a.ledgerToRead(c.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			id := canonicalRunID(args[0])
			run, attempts, err := l.Get(c.Context(), id)
			if err != nil {
				return notFound(id, err)
			}
			if err := addWaiting(c.Context(), l, &run); err != nil {
				return err
			}
			acts, err := actsOnRun(c.Context(), l, id)
			if err != nil {
				return err
			}
			return a.printRun(run, attempts, acts)
		},
	}
}

// notFound says what to do about a run ID that the ledger does not have.
func notFound(id string, err error) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("the ledger has no run %q: it has no row of its own (\"cronce runs list\" shows those that have), was purged, or was never planned", id)
	}
	return err
}

func (a *app) printRun(r ledger.Run, attempts []ledger.Attempt, acts []ledger.Audit) error {
	shown := shownRun{toJSON(r), r.Call.Target, r.Call.Method, r.Call.Path, []attemptJSON{}, actsJSON(acts)}
	for _, at := range attempts {
		shown.History = append(shown.History, attemptJSON{
			at.N, moment(at.StartedAt), moment(at.FinishedAt), at.Answer, at.Status, at.Code, at.Error, at.Detail, at.Owner,
		})
	}
	if a.json {
		return printJSON(a.out, shown)
	}
	t := a.table("RUN", r.ID)
	for _, line := range [][2]string{
		{"job", r.JobID}, {"scheduled at", shown.ScheduledAt}, {"until", shown.Until}, {"trigger", string(r.Trigger)},
		{"state", stateText(r)}, {"reason", string(r.Reason)}, {"waiting", r.WaitsFor.String()}, {"replayed", strconv.FormatBool(r.Replayed)},
		{"calls", r.Call.Method + " " + r.Call.Target + " " + r.Call.Path}, {"send before", shown.SendBefore},
		{"next attempt", shown.NextAt}, {"planned", shown.PlannedAt}, {"started", shown.StartedAt},
		{"accepted", shown.AcceptedAt}, {"progress", r.Progress},
		{"finished", shown.FinishedAt}, {"acknowledged", shown.AckedAt}, {"rerun as", r.RerunID},
	} {
		if strings.TrimSpace(line[1]) != "" {
			t.Row(line[0], line[1])
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(acts) > 0 {
		fmt.Fprintln(a.out)
	}
	if err := a.printActs(acts, false); err != nil || len(attempts) == 0 {
		return err
	}
	fmt.Fprintln(a.out)
	h := a.table("ATTEMPT", "STARTED", "TOOK", "ANSWER", "STATUS", "CODE", "ERROR").
		Optional("STARTED", "TOOK", "CODE")
	for _, at := range attempts {
		h.Row(strconv.Itoa(at.N), moment(at.StartedAt), at.FinishedAt.Sub(at.StartedAt).Round(time.Millisecond).String(),
			string(at.Answer), strconv.Itoa(at.Status), at.Code, at.Error)
	}
	return errors.Join(h.Flush(), a.printPurges(attempts))
}

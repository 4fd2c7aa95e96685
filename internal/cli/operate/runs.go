package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

func (a *app) runsCommand() *cobra.Command {
	c := command.Group("runs", "List and show runs, and act on them",
		a.runsListCommand(), a.runsShowCommand(), a.runsMembersCommand(), a.runsFollowCommand())
	c.AddCommand(a.runActionCommands()...)
	return c
}

// selection has the flags that select jobs.
type selection struct{ operations.Selection }

func (s *selection) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.Job, "job", "", "only this `job`, or those that a pattern such as 'billing-*' matches")
	c.Flags().StringVar(&s.Owner, "owner", "", "only jobs of this `owner`")
	c.Flags().StringArrayVar(&s.Labels, "label", nil, "only jobs with this label: `name=value`, or a name for any value; may be repeated")
	c.Flags().StringVar(&s.Target, "target", "", "only jobs that call this `target`")
}

// name returns the ID of the job that the flags name; "" for a pattern.
func (s *selection) name() string {
	if strings.Contains(s.Job, "*") {
		return ""
	}
	return s.Job
}

// runFilter has the flags that select runs.
type runFilter struct {
	selection
	reason, since, until string
	states               []string
}

func (s *runFilter) flags(c *cobra.Command) {
	s.selection.flags(c)
	c.Flags().StringVar(&s.reason, "reason", "", "only runs with this `reason`, e.g. exhausted")
	c.Flags().StringVar(&s.since, "since", "", "only runs scheduled at or after this `time` ("+command.TimeHelp+")")
	c.Flags().StringVar(&s.until, "until", "", "only runs scheduled before this `time`")
}

func (s *runFilter) stateFlag(c *cobra.Command) {
	c.Flags().StringSliceVar(&s.states, "state", nil, "only runs in these `states`, e.g. dead,missed")
}

// filter reads the flags into a filter. It has no jobs: the Selection goes beside it, as only the registry knows
// owners, labels and targets.
func (s *runFilter) filter(now time.Time) (f ledger.Filter, err error) {
	if s.reason != "" {
		if f.Reason, err = command.OneOf("reason", s.reason, ledger.Reasons); err != nil {
			return f, err
		}
	}
	if f.Since, err = command.TimeOrAge("--since", s.since, now); err != nil {
		return f, err
	}
	if f.Until, err = command.TimeOrAge("--until", s.until, now); err != nil {
		return f, err
	}
	if err = operations.CheckSpan(f.Since, f.Until); err != nil {
		return f, err
	}
	f.States, err = command.AllOf("state", s.states, ledger.States)
	return f, err
}

func (a *app) runsListCommand() *cobra.Command {
	var s runFilter
	var l listing
	unacknowledged := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest scheduled time first",
		Example: `  cronce runs list --state dead
  cronce runs list --job release-commission-locks --since 24h --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := s.filter(a.Now())
			if err != nil {
				return err
			}
			if err := l.check(c); err != nil {
				return err
			}
			f.Limit, f.Unacknowledged = l.rows(), unacknowledged
			defer l.tell(a)
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) ([]operations.Run, error) {
				page, err := o.Runs(ctx, s.Selection, f)
				return cut(&l, page.Runs), err
			}, a.printRuns, s.name())
		},
	}
	s.flags(c)
	s.stateFlag(c)
	c.Flags().BoolVar(&unacknowledged, "unacknowledged", false, "only runs that nobody has acknowledged")
	l.flags(c, "runs")
	return c
}

// printRuns shows the code of a run's reason, or of why it waits, as filters take it; "runs show"
// has the sentence.
func (a *app) printRuns(runs []operations.Run) error {
	t := a.Table("RUN", "STATE", "REASON", "TRIGGER", "ATTEMPTS", "REPLAYED", "FINISHED").
		Optional("REASON", "FINISHED", "TRIGGER", "ATTEMPTS", "REPLAYED").Folding("REASON")
	for _, r := range runs {
		reason := string(r.Reason)
		if reason == "" && r.Waiting != nil {
			reason = string(r.Waiting.Code)
		}
		t.Row(r.RunID, a.State(r.StateText()), reason, string(r.Trigger),
			strconv.Itoa(r.Attempts), strconv.FormatBool(r.Replayed), r.FinishedAt)
	}
	return t.Flush()
}

func (a *app) runsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN-ID",
		Short: "Show one run with its attempts and the actions of operators",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) (operations.RunDetail, error) {
				return o.Run(ctx, args[0])
			}, a.printRun)
		},
	}
}

// printRun shows a run: its row, the actions of operators, the attempts, and what was sent about it.
func (a *app) printRun(r operations.RunDetail) error {
	t := a.Details("RUN", r.RunID)
	for _, line := range [][2]string{
		{"job", r.JobID}, {"parent", r.Parent}, {"member", r.Member}, {"members", memberCounts(r)}, {"scheduled at", r.ScheduledAt},
		{"until", r.Until}, {"trigger", string(r.Trigger)},
		{"state", a.State(r.StateText())}, {"reason", string(r.Reason)}, {"waiting", r.Waiting.String()},
		{"replayed", strconv.FormatBool(r.Replayed)},
		{"calls", r.Method + " " + r.Target + " " + r.Path}, {"key", r.Key}, {"key header", r.KeyHeader},
		{"send before", r.SendBefore}, {"redrive until", r.KeySafeUntil},
		{"next attempt", r.NextAt}, {"planned", r.PlannedAt}, {"started", r.StartedAt},
		{"accepted", r.AcceptedAt}, {"progress", r.Progress},
		{"finished", r.FinishedAt}, {"acknowledged", r.AckedAt}, {"rerun as", r.RerunID},
	} {
		if strings.TrimSpace(line[1]) != "" {
			t.Row(line[0], line[1])
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Audit) > 0 {
		fmt.Fprintln(a.Out)
	}
	if err := a.printAudit(r.Audit); err != nil || len(r.History) == 0 {
		return errors.Join(err, a.printDeliveries(r.Deliveries))
	}
	fmt.Fprintln(a.Out)
	h := a.Details("ATTEMPT", "STARTED", "TOOK", "ANSWER", "STATUS", "CODE", "ERROR").
		Optional("STARTED", "TOOK", "CODE")
	for _, at := range r.History {
		h.Row(strconv.Itoa(at.Attempt), at.StartedAt, at.Took().String(), string(at.Answer), strconv.Itoa(at.Status), at.Code, at.Error)
	}
	return errors.Join(h.Flush(), a.printExcerpts(r.History), a.printPurges(r), a.printDeliveries(r.Deliveries))
}

// printExcerpts shows what the target said in each attempt, if the ledger keeps it.
func (a *app) printExcerpts(attempts []operations.Attempt) error {
	for _, at := range attempts {
		if at.Excerpt == "" {
			continue
		}
		if _, err := fmt.Fprintf(a.Out, "\nattempt %d, the target said:\n  %s\n", at.Attempt,
			strings.ReplaceAll(plaintext.Lines(at.Excerpt), "\n", "\n  ")); err != nil {
			return err
		}
	}
	return nil
}

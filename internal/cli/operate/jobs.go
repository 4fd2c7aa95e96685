package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
)

func (a *app) jobsListCommand() *cobra.Command {
	var s selection
	var names []string
	c := &cobra.Command{
		Use:   "list",
		Short: "List jobs with the next scheduled time and the last run",
		Example: `  cronce jobs list --owner "Billing team"
  cronce jobs list --label env=prod --label tier
  cronce jobs list --target billing --state failing`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			states, err := command.AllOf("state", names, operations.JobStates)
			if err != nil {
				return err
			}
			return ask(c, a, a.LedgerIfAny, func(ctx context.Context, o backend.Operator) ([]operations.Job, error) {
				all, err := o.Jobs(ctx, s.Selection)
				return slices.DeleteFunc(all, func(j operations.Job) bool { return len(states) > 0 && !slices.Contains(states, j.State) }), err
			}, a.printJobs)
		},
	}
	s.flags(c)
	c.Flags().StringSliceVar(&names, "state", nil, "only jobs in these `states`, e.g. failing,paused")
	return c
}

func (a *app) printJobs(list []operations.Job) error {
	t := a.Table("JOB", "SCHEDULE", "NEXT", "CALLS", "LAST RUN", "LAST OUTCOME", "INCIDENTS", "STATE").
		Optional("NEXT", "INCIDENTS", "LAST OUTCOME", "LAST RUN", "SCHEDULE", "CALLS").Folding("LAST OUTCOME", "INCIDENTS")
	for _, j := range list {
		t.Row(j.ID, j.InWords, nextText(j), j.Method+" "+j.Target+" "+j.Path, lastRun(j),
			a.State(j.Outcome()), j.Trouble(), a.State(string(j.State)))
	}
	return t.Flush()
}

// lastRun describes the newest run of a job, and why it waits.
func lastRun(j operations.Job) string {
	if j.LastRun == nil {
		return ""
	}
	text := j.LastRun.ScheduledAt + " " + string(j.LastRun.State)
	if j.LastRun.Waiting != nil {
		text += " (" + string(j.LastRun.Waiting.Code) + ")"
	}
	return text
}

// nextText returns the job's next scheduled time, or why there is none.
func nextText(j operations.Job) string {
	switch {
	case j.Next == "" && j.State == operations.JobPaused:
		return "when it is resumed"
	case j.State == operations.JobUnfit:
		return "when it fits its template"
	}
	return command.NextText(j.Next, j.Enabled)
}

// slot describes the run that has the job's slot: with overlap skip or queue, no other run starts before it ends.
func slot(j operations.Job) string {
	if j.SlotRun == nil {
		return ""
	}
	return j.SlotRun.RunID + " " + string(j.SlotRun.State)
}

func (a *app) jobsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show JOB",
		Short: "Show one job: its definition, state and history",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return ask(c, a, a.LedgerIfAny, func(ctx context.Context, o backend.Operator) (operations.JobDetail, error) {
				return o.Job(ctx, args[0])
			}, a.printJob)
		},
	}
}

// printJob shows a job: its state, its definition without the fields that are "none", its events, and the actions on
// it.
func (a *app) printJob(j operations.JobDetail) error {
	t := a.Details("JOB", j.ID)
	for _, line := range [][2]string{
		{"in words", j.InWords}, {"next", nextText(j.Job)}, {"starts", j.Starts}, {"watermark", j.Watermark}, {"slot", slot(j.Job)},
		{"last run", lastRun(j.Job)}, {"last outcome", a.State(j.Outcome())}, {"incidents", j.Trouble()},
		{"state", a.State(string(j.State))}, {"paused by", j.PausedBy}, {"paused until", j.PausedUntil}, {"paused why", j.PausedWhy},
		{"held until", j.HeldUntil},
	} {
		if line[1] != "" || !strings.HasSuffix(line[0], " until") { // few jobs are paused or held until a time
			t.Row(line[0], line[1])
		}
	}
	for _, v := range j.Definition {
		if v.Value != "none" {
			t.Row(v.Field, v.Value)
		}
	}
	for _, e := range j.Events {
		t.Row("event", strings.Join(strings.Fields(strings.Join([]string{e.At, e.Kind, e.Local, e.Zone}, " ")), " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(j.Audit) > 0 {
		fmt.Fprintln(a.Out)
	}
	return a.printAudit(j.Audit)
}

package operate

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func (a *app) schedulesCommand() *cobra.Command {
	c := command.Group("schedules", "Make, change and show schedules that are made at run time",
		a.schedulesListCommand(), a.schedulesGetCommand(), a.schedulesPutCommand(), a.schedulesDeleteCommand(),
		a.pauseCommand(operations.PauseJob, "TEMPLATE KEY", "Pause a schedule: its times are recorded as skipped (paused)"),
		a.pauseCommand(operations.ResumeJob, "TEMPLATE KEY", "Resume a paused schedule; its skipped times stay skipped"),
		a.schedulesHistoryCommand())
	c.Long = `schedules works on the schedules of a template, which is a job of the registry
with keyed. A schedule is named by its template and its key. As a job it is
TEMPLATE:KEY, which the commands for jobs and runs take too.`
	return c
}

func (a *app) schedulesListCommand() *cobra.Command {
	var l listing
	var prefix string
	c := &cobra.Command{
		Use:   "list [TEMPLATE]",
		Short: "List templates, or the schedules of one by key",
		Example: `  cronce schedules list
  cronce schedules list customer-report --prefix acme`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := l.check(c); err != nil {
				return err
			}
			if len(args) == 0 {
				return ask(c, a, a.LedgerIfAny, func(ctx context.Context, o backend.Operator) ([]operations.Template, error) {
					return o.Templates(ctx)
				}, a.printTemplates)
			}
			defer l.tell(a)
			return ask(c, a, a.LedgerIfAny, func(ctx context.Context, o backend.Operator) ([]operations.Schedule, error) {
				list, err := o.ListSchedules(ctx, args[0], prefix, l.rows())
				return cut(&l, list), err
			}, a.printSchedules)
		},
	}
	l.flags(c, "schedules")
	c.Flags().StringVar(&prefix, "prefix", "", "only keys that begin with this `text`")
	return c
}

func (a *app) printTemplates(list []operations.Template) error {
	t := a.Table("TEMPLATE", "SCHEDULES", "MAX", "STATE")
	for _, each := range list {
		most := "-"
		if each.Max > 0 {
			most = strconv.Itoa(each.Max)
		}
		t.Row(each.ID, strconv.Itoa(each.Schedules), most, a.State(string(each.State)))
	}
	return t.Flush()
}

func (a *app) printSchedules(list []operations.Schedule) error {
	t := a.Table("KEY", "SCHEDULE", "NEXT", "STATE", "CHANGED", "BY").Optional("BY", "CHANGED").Folding("KEY", "SCHEDULE")
	for _, s := range list {
		t.Row(s.Key, s.InWords, cmp.Or(s.Next, "-"), a.State(string(s.State)), s.ChangedAt, s.ChangedBy)
	}
	return t.Flush()
}

func (a *app) schedulesGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get TEMPLATE KEY",
		Short: "Show a schedule",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return ask(c, a, a.ExistingLedger, func(ctx context.Context, o backend.Operator) (operations.Schedule, error) {
				return o.Schedule(ctx, args[0], args[1])
			}, a.printSchedule)
		},
	}
}

func (a *app) printSchedule(s operations.Schedule) error {
	t := a.Details("SCHEDULE", s.JobID)
	for _, line := range [][2]string{
		{"schedule", s.Schedule}, {"in words", s.InWords}, {"time zone", s.Timezone}, {"next", cmp.Or(s.Next, "-")}, {"until", s.Until},
		{"data", string(s.Data)}, {"revision", strconv.FormatInt(s.Revision, 10)}, {"generation", positive(s.Generation)},
		{"changed", s.ChangedAt + " by " + s.ChangedBy}, {"created", s.CreatedAt}, {"ended", s.EndedAt},
		{"state", a.State(string(s.State))}, {"problem", s.Problem}, {"paused by", s.PausedBy}, {"paused until", s.PausedUntil},
		{"paused why", s.PausedWhy},
	} {
		t.Row(line[0], line[1])
	}
	return t.Flush()
}

func positive(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// historyRuns is the number of runs that the history of a schedule shows.
const historyRuns = 20

// schedulesHistoryCommand joins two questions, as a schedule is a job: the actions on it, and its runs.
func (a *app) schedulesHistoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history TEMPLATE KEY",
		Short: "Show who changed a schedule, and its last runs",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			id := jobs.ScheduleID(args[0], args[1])
			return ask(c, a, a.ExistingLedger, func(ctx context.Context, o backend.Operator) (h scheduleHistory, err error) {
				j, err := o.Job(ctx, id)
				if err != nil {
					return h, err
				}
				page, err := o.Runs(ctx, operations.Selection{Job: id}, ledger.Filter{Limit: historyRuns})
				return scheduleHistory{j.Audit, page.Runs}, err
			}, func(h scheduleHistory) error {
				if err := a.printAudit(h.Audit); err != nil {
					return err
				}
				fmt.Fprintln(a.Out)
				return a.printRuns(h.Runs)
			})
		},
	}
}

// scheduleHistory is the answer of schedules history: both lists come newest first.
type scheduleHistory struct {
	Audit []operations.AuditEntry `json:"audit"`
	Runs  []operations.Run        `json:"runs"`
}

// IDs returns the lines that --output id prints.
func (h scheduleHistory) IDs() (ids []string) {
	for _, r := range h.Runs {
		ids = append(ids, r.RunID)
	}
	return ids
}

// changeSchedule makes one change and prints what became of it. It may be the first command on a new
// ledger, which it then makes.
func (a *app) changeSchedule(c *cobra.Command, template string, change operations.ScheduleChange, w who) error {
	return ask(c, a, a.OpenLedger, func(ctx context.Context, o backend.Operator) (changed changedSchedule, err error) {
		outcomes, err := o.ChangeSchedules(ctx, template, []operations.ScheduleChange{change}, w.actor())
		if err != nil {
			return changed, err
		}
		return changedSchedule{outcomes[0].Effect, outcomes[0].Schedule}, outcomes[0].Err
	}, func(changed changedSchedule) error {
		more := ""
		if changed.State == operations.SchedulePaused {
			more = "; paused by " + changed.PausedBy + ": " + changed.PausedWhy
		}
		if changed.Next != "" {
			more += "; the next run is due at " + changed.Next
		}
		_, err := fmt.Fprintf(a.Out, "%s %s%s\n", jobs.ScheduleID(template, change.Key), changed.Result, more)
		return err
	})
}

// changedSchedule is the answer of a change: what it did, and the schedule as it is now.
type changedSchedule struct {
	Result ledger.ScheduleEffect `json:"result"`
	operations.Schedule
}

// tally counts the outcomes of an import.
type tally map[ledger.ScheduleEffect]int

func (t tally) String() string {
	text := ""
	for _, effect := range []ledger.ScheduleEffect{ledger.ScheduleCreated, ledger.ScheduleChanged, ledger.ScheduleUnchanged,
		ledger.ScheduleDeleted} {
		if t[effect] > 0 {
			text += fmt.Sprintf("%d %s, ", t[effect], effect)
		}
	}
	return text + plural.Of(t[""], "line") + " refused"
}

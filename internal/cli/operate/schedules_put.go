package operate

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// putFlags has the flags of the commands that change schedules. Those that only put has stay zero in the others.
type putFlags struct {
	operations.ScheduleChange
	data, until string
	in          time.Duration
	isNew       bool
	who
}

func (a *app) schedulesPutCommand() *cobra.Command {
	var f putFlags
	c := &cobra.Command{
		Use:   "put TEMPLATE KEY",
		Short: "Make or change a schedule",
		Long: `put makes the schedule, or replaces it as a whole. The same put again changes
nothing. It takes effect at once in every process, and never for the past.`,
		Example: `  cronce schedules put customer-report acme --schedule "0 7 * * 1-5" --timezone Europe/Berlin --data '{"format":"pdf"}'
  cronce schedules put reminder order-4711 --in 48h`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			change, err := f.change(args[1], a.Now())
			if err != nil {
				return err
			}
			return a.changeSchedule(c, args[0], change, f.who)
		},
	}
	c.Flags().StringVar(&f.Schedule, "schedule", "", "when it is due, as in the registry: crontab fields, @every, at(2026-12-24T18:00:00)")
	c.Flags().DurationVar(&f.in, "in", 0, "instead of --schedule: once, after this time from now on")
	c.Flags().StringVar(&f.Timezone, "timezone", "", "IANA time zone (default: the template's)")
	c.Flags().StringVar(&f.DST, "dst", "", "once, skip or wall (default: the template's)")
	c.Flags().StringVar(&f.data, "data", "", "JSON `object` for {{data.FIELD}} of the template")
	c.Flags().StringVar(&f.until, "until", "", "no scheduled time after this `time` runs (RFC 3339)")
	f.changeFlags(c)
	c.Flags().BoolVar(&f.isNew, "new", false, "only if there is no such schedule")
	f.reasoned(c, a)
	return c
}

// changeFlags adds the flags of every change.
func (f *putFlags) changeFlags(c *cobra.Command) {
	c.Flags().Int64Var(&f.Generation, "generation", 0, "your number of this change; one lower than the stored one is refused")
	c.Flags().Int64Var(&f.IfRevision, "if-revision", 0, "only if the schedule has this revision")
}

// reasoned adds --by and --why. A program makes most schedules, and seldom has a reason to give, so
// --why has a default.
func (f *putFlags) reasoned(c *cobra.Command, a *app) {
	f.flags(c, a)
	why := c.Flags().Lookup("why")
	why.DefValue, f.why = operations.ScheduledByProgram, operations.ScheduledByProgram
}

// change reads the flags into a change. --in becomes a schedule of one time, counted from now.
func (f *putFlags) change(key string, now time.Time) (operations.ScheduleChange, error) {
	change := f.ScheduleChange
	change.Key = key
	switch {
	case f.in < 0, (f.in > 0) == (f.Schedule != ""):
		return change, command.Usage("give either --schedule, or --in with a positive duration")
	case f.isNew && f.IfRevision != 0:
		return change, command.Usage("--new and --if-revision contradict each other; give one")
	case f.data != "" && !json.Valid([]byte(f.data)):
		return change, command.Usage("--data is not JSON; write e.g. --data '{\"format\":\"pdf\"}'")
	case f.data != "":
		change.Data = json.RawMessage(f.data)
	}
	if f.in > 0 {
		change.Schedule, change.Timezone = operations.ResolveIn(now, f.in), "UTC" // the template may have another zone
	}
	if f.isNew {
		change.IfRevision = ledger.MustNotExist
	}
	if f.until != "" {
		var err error
		if change.Until.Time, err = time.Parse(time.RFC3339, f.until); err != nil || change.Until.IsZero() {
			return change, command.Usage("invalid --until %q; use a time such as 2026-12-31T23:00:00Z", f.until)
		}
	}
	return change, nil
}

func (a *app) schedulesDeleteCommand() *cobra.Command {
	var f putFlags
	c := &cobra.Command{
		Use:   "delete TEMPLATE KEY",
		Short: "Delete a schedule; its runs stay",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			change := f.ScheduleChange
			change.Key, change.Delete = args[1], true
			return a.changeSchedule(c, args[0], change, f.who)
		},
	}
	f.changeFlags(c)
	f.reasoned(c, a)
	return c
}

package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

func (a *app) nextCommand() *cobra.Command {
	var f nextFlags
	c := &cobra.Command{
		Use:   "next [JOB | --expr E [--tz Z] [--dst P]]",
		Short: "Print the next scheduled times of a job or an expression",
		Long: `next prints the scheduled times of a job or an expression: UTC, local time with
its offset, and a mark where the clocks change between two times. STARTS is when
the run starts, if the job has a spread; a scheduled time whose run has not
started yet is listed too. A schedule made at run time, TEMPLATE:KEY, is looked
up in the ledger, or by --server, and listed without its spread. --json prints
an array of the scheduled times: UTC, RFC 3339.`,
		Example: `  cronce next release-commission-locks -n 5
  cronce next customer-report:acme
  cronce next --expr "30 2 * * *" --tz America/New_York --from 2026-03-07T00:00:00Z
  cronce next --expr "cron(0 9 ? * MON#1 *)" --json`,
		Args: oneExpression,
		RunE: func(c *cobra.Command, args []string) error { return a.next(c.Context(), args, f) },
	}
	c.Flags().StringVar(&f.expr, "expr", "", "an `expression` instead of a job")
	c.Flags().StringVar(&f.tz, "tz", "", "its time `zone` (default UTC)")
	c.Flags().StringVar(&f.dst, "dst", "", "its daylight saving `policy`: once, skip or wall (default once)")
	c.Flags().StringVar(&f.from, "from", "", "print scheduled times after this `time` ("+command.TimeHelp+"; default now)")
	c.Flags().IntVarP(&f.n, "count", "n", 10, "how many")
	return c
}

// oneExpression knows what the shell makes of a schedule without quotes: several words,
// with the names of files for each *.
func oneExpression(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return command.Usage("%d words instead of one job; a schedule needs quotes, because the shell puts file names in "+
			"place of *: cronce next --expr \"0 3 * * *\"", len(args))
	}
	return nil
}

// nextFlags has the flags of next.
type nextFlags struct {
	expr, tz, dst, from string
	n                   int
}

// next prints scheduled times after --from, or after now. If the job has a spread, it begins with those whose runs have
// not started.
func (a *app) next(ctx context.Context, args []string, f nextFlags) error {
	from, err := a.startOf(f.from, f.n)
	if err != nil {
		return err
	}
	s, err := a.timetableOf(ctx, args, f)
	if err != nil {
		return err
	}
	if f.from == "" && s.spread != nil {
		from = s.spread.DueBy(from)
	}
	if s.Location() != time.UTC {
		a.WarnOfOldZones()
	}
	return a.printNext(s, s.upcoming(from, f.n), from)
}

// startOf reads the flags --from and -n of a listing of scheduled times.
func (a *app) startOf(from string, n int) (time.Time, error) {
	if n < 1 || n > 100_000 {
		return time.Time{}, command.Usage("invalid -n %d; it must be from 1 to 100000", n)
	}
	if from == "" {
		return a.Now().UTC(), nil
	}
	return command.TimeOrAge("--from", from, a.Now())
}

// timetable has the scheduled times of a job, and the starts of its runs.
type timetable struct {
	*schedule.Schedule
	spread *jobs.Job // nil: its runs start at the scheduled times
	until  time.Time // of a schedule made at run time; zero: no end
}

// upcoming returns the next n scheduled times.
func (t timetable) upcoming(from time.Time, n int) []time.Time {
	times := t.Upcoming(from, n)
	if t.until.IsZero() {
		return times
	}
	return slices.DeleteFunc(times, t.until.Before)
}

// timetableOf returns the scheduled times of what the command names: an expression, a schedule made at run time, or a
// job of the server or of the file.
func (a *app) timetableOf(ctx context.Context, args []string, f nextFlags) (timetable, error) {
	switch {
	case f.expr != "" && len(args) > 0:
		return timetable{}, command.Usage("give a job or --expr, not both")
	case f.expr != "":
		s, err := schedule.Parse(f.expr, f.tz, schedule.DST(f.dst))
		if err != nil {
			return timetable{}, command.Usage("%w", err)
		}
		return timetable{Schedule: s}, nil
	case len(args) == 0:
		return timetable{}, command.Usage("give a job of the registry, or an expression with --expr")
	case f.tz != "" || f.dst != "":
		return timetable{}, command.Usage("--tz and --dst belong to --expr; a job has its own")
	}
	if template, key, keyed := jobs.SplitJobID(args[0]); keyed {
		return a.timetableOfSchedule(ctx, template, key)
	}
	if a.Server != "" {
		return a.timetableAt(ctx, args[0])
	}
	reg, err := a.Registry()
	if err != nil {
		return timetable{}, err
	}
	if _, is := reg.Template(args[0]); is {
		return timetable{}, command.Usage("%s is a template; name one of its schedules, which \"cronce schedules list %[1]s\" lists, as "+
			"%[1]s:KEY", args[0])
	}
	j, err := backend.Job(reg, args[0])
	if err != nil {
		return timetable{}, err
	}
	return timetableFor(j), nil
}

// timetableOfSchedule returns the scheduled times of a schedule made at run time, which only a ledger or a server has.
func (a *app) timetableOfSchedule(ctx context.Context, template, key string) (timetable, error) {
	o, done, err := a.Operator(ctx, a.LedgerToRead)
	if err != nil {
		return timetable{}, err
	}
	defer done()
	made, err := o.Schedule(ctx, template, key)
	if err != nil {
		return timetable{}, err
	}
	s, err := schedule.Parse(made.Schedule, made.Timezone, schedule.DST(made.DST))
	if err != nil {
		return timetable{}, err
	}
	t := timetable{Schedule: s}
	if made.Until != "" {
		t.until, err = time.Parse(time.RFC3339, made.Until)
	}
	return t, err
}

// timetableFor returns the scheduled times of a job.
func timetableFor(j jobs.Job) timetable {
	t := timetable{Schedule: j.ParsedSchedule()}
	if j.Spread > 0 {
		t.spread = &j
	}
	return t
}

// timetableAt returns the scheduled times of a job that the server of --server has. The delays of a spread are computed
// here, as the server computes them.
func (a *app) timetableAt(ctx context.Context, jobID string) (timetable, error) {
	s, err := a.Remote()
	if err != nil {
		return timetable{}, err
	}
	j, err := s.Job(ctx, jobID)
	if err != nil {
		return timetable{}, err
	}
	if j.Spread == "" {
		parsed, err := schedule.Parse(j.Schedule, j.Timezone, schedule.DST(j.DST))
		return timetable{Schedule: parsed}, err
	}
	status, err := s.Status(ctx)
	if err != nil {
		return timetable{}, err
	}
	spread, err := time.ParseDuration(j.Spread)
	if err != nil {
		return timetable{}, err
	}
	reg, err := jobs.NewRegistry(jobs.Name(status.Registry), jobs.Job{
		ID: j.ID, Schedule: j.Schedule, Timezone: j.Timezone, DST: schedule.DST(j.DST), Spread: spread, TargetURLEnv: "URL", Path: "/",
	})
	if err != nil {
		return timetable{}, err
	}
	same, _ := reg.Job(j.ID)
	return timetableFor(same), nil
}

func (a *app) printNext(s timetable, instants []time.Time, from time.Time) error {
	if a.Encoded() {
		out := make([]string, len(instants))
		for i, t := range instants {
			out[i] = operations.TimeText(t)
		}
		return a.Encode(out)
	}
	fmt.Fprintf(a.Out, "%s: %s%s\n", s, s.Describe(), zoneRelease(s.Schedule))
	if len(instants) == 0 {
		_, err := fmt.Fprintf(a.Out, "never after %s\n", operations.TimeText(from))
		return err
	}
	columns := []string{"UTC", "LOCAL", "OFFSET", "CLOCKS"}
	if s.spread != nil {
		columns = []string{"UTC", "STARTS", "LOCAL", "OFFSET", "CLOCKS"}
	}
	t := a.Table(columns...).Showing(nil).Optional("LOCAL", "CLOCKS", "OFFSET")
	before := from
	for _, at := range instants {
		local := at.In(s.Location())
		cells := []string{operations.TimeText(at)}
		if s.spread != nil {
			cells = append(cells, operations.TimeText(s.spread.DueAt(at)))
		}
		t.Row(append(cells, local.Format("Mon 2006-01-02 15:04:05 MST"), local.Format("-07:00"),
			command.Shift(before.In(s.Location()), local))...)
		before = at
	}
	return t.Flush()
}

// zoneRelease says which time zone database the times depend on, if they do.
func zoneRelease(s *schedule.Schedule) string {
	if s.Location() == time.UTC {
		return ""
	}
	return " (time zones " + schedule.ZoneVersion() + ")"
}

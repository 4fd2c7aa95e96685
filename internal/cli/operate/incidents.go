package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/ledger"
)

func (a *app) incidentsCommand() *cobra.Command {
	c := command.Group("incidents", "List, show and acknowledge incidents: the problems of jobs",
		a.incidentsListCommand(), a.incidentsShowCommand(), a.incidentsAckCommand())
	c.Long = `An incident is a problem of a job: dead runs, missed scheduled times, late runs,
a job that no process plans, a purge that is overdue. A job has at most one open
incident of each cause. It closes with the job's next success, or, if no process
planned the job, when one does. A problem within an hour after that opens it
again.`
	return c
}

func (a *app) incidentsListCommand() *cobra.Command {
	f := ledger.IncidentFilter{}
	var s selection
	var l listing
	closed := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List open incidents, newest first",
		Example: `  cronce incidents list
  cronce incidents list --closed --job close-books`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := l.check(c); err != nil {
				return err
			}
			f.Open = !closed
			defer l.tell(a)
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) ([]operations.Incident, error) {
				list, err := incidents(ctx, o, s.Selection, f, l.rows())
				return cut(&l, list), err
			}, a.printIncidents, s.name())
		},
	}
	s.flags(c)
	c.Flags().BoolVar(&closed, "closed", false, "list closed incidents too")
	l.flags(c, "incidents")
	return c
}

// incidents lists up to n incidents. A ledger returns them page by page, a server all at once.
func incidents(ctx context.Context, o backend.Operator, sel operations.Selection, f ledger.IncidentFilter, n int) ([]operations.Incident, error) {
	list := []operations.Incident{}
	for {
		f.Limit = n - len(list) // a ledger gives a page, a server all
		page, err := o.Incidents(ctx, sel, f)
		list = append(list, page.Incidents...)
		if err != nil || page.Next == 0 || len(list) >= n {
			return list, err
		}
		f.Before = page.Next
	}
}

func (a *app) printIncidents(list []operations.Incident) error {
	t := a.Table("ID", "JOB", "CAUSE", "REASON", "SINCE", "COUNT", "STATE", "ERROR").
		Optional("ERROR", "REASON", "COUNT").Folding("ERROR")
	for _, i := range list {
		t.Row(strconv.FormatInt(i.ID, 10), i.JobID, string(i.Cause), string(i.Reason), i.OpenedAt, strconv.Itoa(i.Count),
			a.State(i.State()), i.Error)
	}
	return t.Flush()
}

func (a *app) incidentsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one incident",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := operations.ParseID("incident", args[0])
			if err != nil {
				return err
			}
			return ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) (operations.Incident, error) {
				return o.Incident(ctx, id)
			}, a.printIncident)
		},
	}
}

func (a *app) printIncident(i operations.Incident) error {
	t := a.Details("INCIDENT", strconv.FormatInt(i.ID, 10))
	for _, line := range [][2]string{
		{"job", i.JobID}, {"cause", string(i.Cause)}, {"reason", string(i.Reason)}, {"error", i.Error}, {"last run", i.RunID},
		{"count", strconv.Itoa(i.Count)}, {"reopened", strconv.Itoa(i.Reopened)}, {"state", a.State(i.State())},
		{"opened", i.OpenedAt}, {"last problem", i.LastAt},
		{"acknowledged", i.AckedAt}, {"acknowledged by", i.AckedBy}, {"closed", i.ClosedAt}, {"closed by", i.ClosedBy}, {"why", i.Why},
	} {
		if line[1] != "" {
			t.Row(line[0], line[1])
		}
	}
	return errors.Join(t.Flush(), a.printDeliveries(i.Notified))
}

// printDeliveries shows which notifications and pings were sent, and whether they arrived.
func (a *app) printDeliveries(list []operations.Delivery) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	t := a.Details("SENT BY", "EVENT", "WRITTEN", "RESULT", "ATTEMPTS", "ARRIVED").Optional("ATTEMPTS")
	for _, d := range list {
		t.Row(d.JobID, d.Event, d.At, d.Words(), strconv.Itoa(d.Calls), d.Arrived)
	}
	return t.Flush()
}

func (a *app) incidentsAckCommand() *cobra.Command {
	var w who
	var asked operations.ActionRequest
	c := &cobra.Command{
		Use:   "ack ID --why REASON",
		Short: "Acknowledge an open incident, or close it",
		Long: `ack silences an open incident: it sends no reminders, also if it closes and a
problem within an hour opens it again. With --close it is closed now, and the
next problem opens a new one. A repetition changes nothing.`,
		Example: `  cronce incidents ack 12 --why "waiting for the vendor"
  cronce incidents ack 12 --close --why "the month is booked by hand"`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			// Both are usage errors, to be told of before a ledger or a server is looked for.
			if _, err := operations.ParseID("incident", args[0]); err != nil {
				return err
			}
			if err := w.check(); err != nil {
				return err
			}
			return ask(c, a, a.ExistingLedger, func(ctx context.Context, o backend.Operator) (i operations.Incident, err error) {
				err = o.DoAction(ctx, operations.AckIncident, args[0], w.sign(asked), &i)
				return i, err
			}, func(i operations.Incident) error {
				_, err := terminal.Fprintf(a.Out, "incident %s of %s (%s) %s\n", strconv.FormatInt(i.ID, 10), i.JobID, string(i.Cause), i.State())
				return err
			})
		},
	}
	c.Flags().BoolVar(&asked.Close, "close", false, "close it too")
	w.flags(c, a)
	return c
}

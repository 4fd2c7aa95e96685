package operate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/ledger"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show which processes serve the ledger, and how late runs are",
		Long: `status shows the processes that work on the ledger, how long the oldest due run
has been waiting, how many runs are unfinished or dead, how many incidents are
open, and when the nightly purge last succeeded.

Exit 0: a process serves. Exit 1: none does.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			serving := false
			err := ask(c, a, a.LedgerToRead, func(ctx context.Context, o backend.Operator) (operations.Status, error) {
				s, err := o.Status(ctx)
				serving = s.Serving
				return s, err
			}, a.printStatus)
			if err == nil && !serving { // scripts test whether a process serves
				err = command.ExitWith(command.ExitFailed)
			}
			return err
		},
	}
}

// printStatus prints the processes, then the problems, then counts. The last line says whether a process serves.
func (a *app) printStatus(s operations.Status) error {
	if err := a.printProcesses(s.Processes); err != nil {
		return err
	}
	a.printAttention(s)
	var counts []string
	for _, state := range ledger.Unfinished {
		counts = append(counts, fmt.Sprintf("%d %s", s.Unfinished[state], state))
	}
	purge := "no success yet"
	if s.Purge.LastSuccess != "" {
		purge = "last succeeded at " + a.TimesInFull(s.Purge.LastSuccess)
	}
	if s.Purge.Overdue {
		purge += "; overdue"
	}
	due := "none"
	if s.OldestDue > 0 {
		due = "waiting for " + time.Duration(s.OldestDue*float64(time.Second)).Round(time.Second).String()
	}
	serving := "serving"
	if !s.Serving {
		serving = "not serving: no process is alive; start \"cronce serve\""
	}
	_, err := terminal.Fprintf(a.Out, "runs: %s, %s dead to acknowledge\nincidents: %s open\noldest due run: %s\nnightly purge: %s\n%s\n",
		strings.Join(counts, ", "), strconv.Itoa(s.Dead), strconv.Itoa(s.Incidents), due, purge, serving)
	return err
}

// printProcesses prints the processes that work, or lately worked, on the ledger.
func (a *app) printProcesses(list []operations.Process) error {
	if len(list) == 0 {
		return nil
	}
	t := a.Table("PROCESS", "HOST", "STATE", "HEARTBEAT", "DEFINITIONS", "RUNNING", "PROGRAM", "VERSION").
		Optional("HEARTBEAT", "RUNNING", "DEFINITIONS", "VERSION", "PROGRAM")
	for _, p := range list {
		state := "alive"
		if !p.Alive {
			state = "gone"
		}
		t.Row(p.ID, p.Host, a.State(state), p.HeartbeatAt, strconv.Itoa(p.Definitions), strconv.Itoa(p.Running), p.Program, p.Version)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	return nil
}

// printAttention prints what is wrong: a clock that was set back, and the causes of dead runs.
func (a *app) printAttention(s operations.Status) {
	if s.Clock != "" {
		terminal.Fprintf(a.Out, "clock: %s\n", s.Clock)
	}
	for _, c := range s.Attention.Causes {
		answer := operations.Because(c.Reason)
		if c.Status > 0 {
			answer += " (" + strconv.Itoa(c.Status) + ")"
		}
		terminal.Fprintf(a.Out, "dead at target %s: %s, %s of %s since %s\n", c.Target, answer, plural.Of(c.Runs, "run"),
			plural.Of(len(c.Jobs)+c.Others, "job"), a.TimesInFull(c.Since))
	}
	if n := s.Attention.More; n > 0 {
		terminal.Fprintf(a.Out, "and %s\n", plural.Of(n, "more dead run"))
	}
}

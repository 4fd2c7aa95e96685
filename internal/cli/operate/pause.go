package operate

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// who has the flags of every command that changes a run or a job by hand: --by and --why. The ledger keeps both, so
// that a later reader of the audit learns who did it and for what reason.
type who struct {
	by, why string
	// byToken reports whether the server is to name who acts, by the token.
	byToken func() bool
}

// actor returns who acts, as the ledger records it.
func (w *who) actor() ledger.Actor {
	actor := ledger.Actor{By: w.by, Why: w.why, Via: ledger.ViaCLI}
	if w.byToken() {
		actor.By = ""
	}
	return actor
}

// sign adds who acts, and why.
func (w *who) sign(asked operations.ActionRequest) operations.ActionRequest {
	actor := w.actor()
	asked.By, asked.Why = actor.By, actor.Why
	return asked
}

// flags adds the flags. With --server and a token, the server names who acts by the token, unless --by is given.
func (w *who) flags(c *cobra.Command, a *app) {
	c.Flags().StringVar(&w.by, "by", a.Getenv("USER", osUser()),
		"who does this, by `name`; kept in the ledger (default $USER, else the OS user)")
	c.Flags().Lookup("by").DefValue = "" // the same help for everyone
	w.byToken = func() bool { return a.Server != "" && a.Getenv("CRONCE_TOKEN", "") != "" && !c.Flags().Changed("by") }
	c.Flags().StringVar(&w.why, "why", "", "the `reason`, kept in the ledger")
}

// osUser names the account that this process runs as: by its name or, where it
// has none, as in most containers, by its number and the host.
func osUser() string {
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.Username != "" {
		return u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("uid:%d@%s", os.Getuid(), host)
}

// check refuses an action without a reason or a name, before a ledger is opened.
func (w *who) check() error {
	switch {
	case strings.TrimSpace(w.why) == "":
		return command.Usage("--why is required: --why \"...\"; it is kept in the ledger")
	case strings.TrimSpace(w.by) == "":
		return command.Usage("--by is required, as $USER is empty: --by NAME; it is kept in the ledger")
	}
	return nil
}

// pauseCommand pauses or resumes a job, or a schedule, which it takes by its template and its key.
func (a *app) pauseCommand(action, use, short string) *cobra.Command {
	var w who
	c := &cobra.Command{
		Use:   action + " " + use + " --why REASON",
		Short: short,
		Args:  cobra.ExactArgs(len(strings.Fields(use))),
		RunE: func(c *cobra.Command, args []string) error {
			if err := w.check(); err != nil {
				return err
			}
			jobID := args[0]
			if len(args) > 1 {
				jobID = jobs.ScheduleID(args[0], args[1])
			}
			return ask(c, a, a.ExistingLedger, func(ctx context.Context, o backend.Operator) (v operations.JobActionResult, err error) {
				err = o.DoAction(ctx, action, jobID, w.sign(operations.ActionRequest{}), &v)
				return v, err
			}, func(acted operations.JobActionResult) error {
				_, err := terminal.Fprintf(a.Out, "%s %s\n", acted.JobID, acted.State)
				return err
			}, jobID)
		},
	}
	w.flags(c, a)
	return c
}

package operate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/caller"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func (a *app) triggerCommand() *cobra.Command {
	var w who
	c := &cobra.Command{
		Use:   "trigger JOB",
		Short: "Run a job now, independent of its schedule, and wait",
		Long: `trigger makes a run with a run ID of its own (with ~). It never replaces a
scheduled run, and two triggers in one second are two runs. This process makes
the calls and waits for the end. If you stop it (Ctrl-C), a running scheduler
continues the run. With --server, a running scheduler makes the calls. The
ledger keeps who triggered it and why.

Exit 0: succeeded. Exit 1: dead, or stopped before the end.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := w.check(); err != nil {
				return err
			}
			ctx := c.Context()
			return a.enter(ctx, operations.TriggerJob, args[0], w.sign(operations.ActionRequest{}), func() (ledger.Entry, error) {
				return a.triggerEntry(ctx, args[0], w)
			})
		},
	}
	w.flags(c, a)
	why := c.Flags().Lookup("why")
	why.DefValue, w.why = triggeredByHand, triggeredByHand
	return c
}

// triggeredByHand is the reason of a trigger that gives none.
const triggeredByHand = "triggered by hand"

// enter makes a run and waits for its end. With --server, the processes that serve make its calls; otherwise this
// process does, and the registry must be as sound as for serve.
func (a *app) enter(ctx context.Context, action, id string, asked operations.ActionRequest, entryOf func() (ledger.Entry, error)) error {
	if a.Server != "" {
		return a.executeRemotely(ctx, action, id, asked)
	}
	reg, err := a.SoundRegistry()
	if err != nil {
		return err
	}
	entry, err := entryOf()
	if err != nil {
		return err
	}
	if err := a.reachable(reg, entry.Call.Target); err != nil {
		return err
	}
	if entry.RerunOf == "" {
		a.warnIfClosed(ctx, reg, entry.Call)
	}
	return a.execute(ctx, reg, entry)
}

// triggerEntry needs the ledger only for a schedule that was made at run time.
func (a *app) triggerEntry(ctx context.Context, jobID string, w who) (ledger.Entry, error) {
	if _, _, keyed := jobs.SplitJobID(jobID); !keyed {
		return a.OperationsOn(nil).TriggerEntry(ctx, jobID, w.actor())
	}
	l, err := a.ExistingLedger(ctx)
	if err != nil {
		return ledger.Entry{}, err
	}
	defer l.Close()
	return a.OperationsOn(l).TriggerEntry(ctx, jobID, w.actor())
}

// warnIfClosed says at once if nothing listens at the target: the retries take a while.
func (a *app) warnIfClosed(ctx context.Context, reg *jobs.Registry, call ledger.CallSpec) {
	t, _ := reg.Target(call.Target) // execute reports one that is missing
	if host := caller.Refused(ctx, a.Env, t); host != "" {
		var waits time.Duration
		for _, w := range call.Backoff {
			waits += w
		}
		fmt.Fprintf(a.Err, "nothing listens at %s; the call is retried for about %s. After Ctrl-C a running scheduler retries it\n", host, waits.Round(time.Second))
	}
}

// reachable refuses work that this process could not send anywhere: a target
// that the registry does not have any more, or one of a disabled job, whose
// variable may be left unset.
func (a *app) reachable(reg *jobs.Registry, name string) error {
	t, ok := reg.Target(name)
	switch {
	case name == jobs.BuiltinTarget:
		return nil
	case !ok && !strings.HasPrefix(name, "notify:"):
		return command.Usage("the registry has no target %q, which the run's call goes to; put it back first", name)
	case t.URLEnv != "" && a.Getenv(t.URLEnv, "") == "":
		return command.Usage("the environment variable %s is not set: the base URL of the target %q", t.URLEnv, name)
	}
	return nil
}

// execute enters a run, makes its calls and prints what came of it.
func (a *app) execute(ctx context.Context, reg *jobs.Registry, entry ledger.Entry) error {
	log, err := a.Logger()
	if err != nil {
		return err
	}
	s, err := a.OpenLedger(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	calls, err := caller.New(a.Env, reg, s, log)
	if err != nil {
		return err
	}
	defer calls.Close()
	e, err := executor.New(executor.Config{Registry: reg, Ledger: s, Caller: calls, Logger: log})
	if err != nil {
		return err
	}
	defer a.WatchSignals(log, executor.DefaultLease, e.Leased)()
	entry.Lease = true // this process makes the calls
	run, err := executeUntilFinished(ctx, e, s, entry)
	if err != nil {
		return err
	}
	return a.printOutcome(operations.RunOf(ctx, run))
}

// executeUntilFinished makes the calls of a run until it is finished or ctx ends. A scheduler on the
// same ledger may take over its retries; this process then waits with it, and
// goes on should the other one die.
func executeUntilFinished(ctx context.Context, e *executor.Executor, s ledger.Store, entry ledger.Entry) (ledger.Run, error) {
	for {
		run, err := e.Execute(ctx, entry)
		if err != nil && ctx.Err() == nil {
			return run, err
		}
		recorded, _, missing := s.Get(context.WithoutCancel(ctx), entry.RunID)
		if missing == nil {
			run, err = recorded, nil // the ledger has the last word, and all of the times
		}
		if err != nil || run.State.Finished() {
			return run, err
		}
		select {
		case <-ctx.Done():
			return run, nil
		case <-time.After(backend.TakenOver):
		}
	}
}

// printOutcome ends with exit code 1 unless the run succeeded, so that a script may go on after it.
func (a *app) printOutcome(r operations.Run) error {
	if a.Encoded() {
		if err := a.Encode(r); err != nil {
			return err
		}
	} else {
		terminal.Fprintf(a.Out, "%s %s\n", r.RunID, outcomeText(r))
	}
	if r.State != ledger.Succeeded {
		return command.ExitWith(command.ExitFailed)
	}
	return nil
}

// outcomeText says in one line how a run ended, or why it has not.
func outcomeText(r operations.Run) string {
	text := string(r.State)
	if r.Reason != "" {
		text += " (" + string(r.Reason) + ")"
	}
	text += ", " + plural.Of(r.Attempts, "attempt")
	if r.Replayed {
		text += ", replayed"
	}
	if r.Waiting != nil {
		text += "; waiting: " + r.Waiting.String()
	}
	if !r.State.Finished() {
		text += "; a running scheduler goes on with it"
	}
	return text
}

// executeRemotely makes a run on a server and waits for its end, which the processes that
// serve bring about.
func (a *app) executeRemotely(ctx context.Context, action, id string, asked operations.ActionRequest) error {
	s, err := a.Remote()
	if err != nil {
		return err
	}
	var run operations.Run
	if err := s.DoAction(ctx, action, id, asked, &run); err != nil {
		return err
	}
	for !run.State.Finished() {
		select {
		case <-ctx.Done():
			return a.printOutcome(run)
		case <-time.After(backend.TakenOver):
		}
		if shown, err := s.Run(ctx, run.RunID); err == nil {
			run = shown.Run
		} else if ctx.Err() == nil {
			return fmt.Errorf("the run %s was entered and its end is not known; ask later with \"cronce runs show %s\": %w", run.RunID,
				run.RunID, err)
		}
	}
	return a.printOutcome(run)
}

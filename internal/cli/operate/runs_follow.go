package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

func (a *app) runsFollowCommand() *cobra.Command {
	var s selection
	var names []string
	c := &cobra.Command{
		Use:   "follow",
		Short: "Print runs as they change, until interrupted",
		Long: `follow prints a line for each run that changes while it runs: the time, the run
ID, its state, and its reason or why it waits. A run that changes twice within
half a second is printed once. With --json each line is a run as JSON. If more
than 1000 runs change at once, some are not printed, and a line on standard
error says so.`,
		Example: `  cronce runs follow --job release-commission-locks
  cronce runs follow --state dead --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			states, err := command.AllOf("state", names, ledger.States)
			if err != nil {
				return err
			}
			o, done, err := a.Operator(c.Context(), a.LedgerToRead, s.name())
			if err != nil {
				return err
			}
			defer done()
			return a.follow(c.Context(), o, s.Selection, states)
		},
	}
	s.flags(c)
	c.Flags().StringSliceVar(&names, "state", nil, "only runs that are then in these `states`, e.g. dead,missed")
	return c
}

// follow prints changes after its start until the context ends. The first question only returns the
// position to begin at. While the ledger does not answer, it goes on asking from the last position,
// so that no change is lost; a ledger that never answered is an error.
func (a *app) follow(ctx context.Context, o backend.Operator, sel operations.Selection, states []ledger.State) error {
	got, err := o.Changes(ctx, sel, "")
	for position := got.Position; ; {
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			position = got.Position
			err = a.printChanges(got, states)
		case position != "" && errors.Is(err, ledger.ErrUnavailable):
			err = nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(operations.ChangesEvery):
		}
		got, err = o.Changes(ctx, sel, position)
	}
}

// printChanges prints the changed runs that are in one of the states. It says so if there were too many changes to
// tell.
func (a *app) printChanges(got operations.Changes, states []ledger.State) error {
	if got.Lost {
		fmt.Fprintln(a.Err, "too many runs changed at once to print them; \"cronce runs list\" has all")
	}
	for _, r := range got.Runs {
		if len(states) > 0 && !slices.Contains(states, r.State) {
			continue
		}
		if err := a.printChange(r); err != nil {
			return err
		}
	}
	return nil
}

// printChange prints one line, so that a program that reads the output has each change at once and whole.
func (a *app) printChange(r operations.Run) error {
	switch a.Output {
	case command.AsJSON: // a line each
		return a.EncodeJSON(r, "")
	case command.AsID:
		return a.Encode(r)
	}
	now := a.Now().UTC()
	if a.Local {
		now = a.Now().Local()
	}
	state := plaintext.Line(a.State(r.StateText()))
	if a.Colored(a.Out) {
		state = command.ColorOf(state).Paint(state)
	}
	_, err := fmt.Fprintf(a.Out, "%s  %s  %s  %s\n", now.Format(time.RFC3339), plaintext.Line(r.RunID), state,
		plaintext.Line(cmp.Or(string(r.Reason), r.Waiting.String())))
	return err
}

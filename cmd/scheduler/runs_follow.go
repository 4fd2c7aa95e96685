package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

func (a *app) runsFollowCommand() *cobra.Command {
	var job string
	var names []string
	c := &cobra.Command{
		Use:   "follow",
		Short: "Print runs as they change, until interrupted",
		Long: `follow prints a line for each run that changes after it starts: when it was found, the
run, its state, and its reason or why it waits. A run that changes twice within half a
second is printed once. With --json each line is a run as JSON. When more than 1000
runs change at once it says so on standard error and goes on.`,
		Example: `  cronce runs follow --job release-commission-locks
  cronce runs follow --state dead --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var states []ledger.State
			for _, name := range names {
				state, err := oneOf("state", name, ledger.States)
				if err != nil {
					return err
				}
				states = append(states, state)
			}
			o, done, err := a.operator(c.Context(), a.ledgerToRead)
			if err != nil {
				return err
			}
			defer done()
			return o.Follow(c.Context(), job, func(got operations.Changes) error { return a.printChanges(got, states) })
		},
	}
	c.Flags().StringVar(&job, "job", "", "only runs of this `job`")
	c.Flags().StringSliceVar(&names, "state", nil, "only runs that are then in these `states`, e.g. dead,missed")
	return c
}

func (a *app) printChanges(got operations.Changes, states []ledger.State) error {
	if got.Lost {
		fmt.Fprintln(a.err, "too many runs changed at once to print them; \"cronce runs list\" has all")
	}
	for _, r := range got.Runs {
		if len(states) > 0 && !slices.Contains(states, r.State) {
			continue
		}
		line := fmt.Sprintf("%s  %s  %s  %s", a.now().UTC().Format("2006-01-02T15:04:05Z"), r.RunID, r.StateText(), cmp.Or(string(r.Reason), r.Waiting.String()))
		if a.json {
			text, err := json.Marshal(r)
			if err != nil {
				return err
			}
			line = string(text)
		}
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

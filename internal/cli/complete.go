package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

// completeBelow completes the names that arguments and flags take. A question that
// cannot be answered completes nothing.
func (a *app) completeBelow(root *cobra.Command) {
	arguments := map[string]cobra.CompletionFunc{
		"JOB": a.completeJobs, "RUN-ID": a.completeRuns, "[RUN-ID": a.completeRuns, "ID": a.completeIncidents, "CHANNEL": a.completeChannels,
		"TEMPLATE": a.completeSchedules, "[TEMPLATE]": a.completeSchedules,
	}
	for _, c := range root.Commands() {
		a.completeBelow(c)
		first, _, _ := strings.Cut(strings.TrimPrefix(c.Use, c.Name()+" "), " ")
		if complete := arguments[first]; complete != nil {
			c.ValidArgsFunction = complete
		}
		states := fixed(ledger.States)
		switch {
		case c.Name() == operations.Cancel:
			states = fixed(ledger.Unfinished)
		case root.Name() == "jobs":
			states = fixed(operations.JobStates)
		}
		for flag, complete := range map[string]cobra.CompletionFunc{
			"job": a.completeJobs, "state": states, "reason": fixed(ledger.Reasons), "format": fixed(operations.Formats),
			"owner":  a.ofJobs(func(j operations.Job) []string { return []string{j.Owner} }),
			"target": a.ofJobs(func(j operations.Job) []string { return []string{j.Target} }),
			"label":  a.ofJobs(labelsOf),
		} {
			if c.Flags().Lookup(flag) != nil {
				_ = c.RegisterFlagCompletionFunc(flag, complete) // fails only for flags that are not there, or twice
			}
		}
	}
}

// fixed completes a known list of names.
func fixed[T ~string](values []T) cobra.CompletionFunc {
	return cobra.FixedCompletions(operations.Texts(values), cobra.ShellCompDirectiveNoFileComp)
}

// completeOutputs completes the forms in which a command can print.
func completeOutputs(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	forms := command.Outputs
	if !command.PrintsIDs(c) {
		forms = slices.DeleteFunc(slices.Clone(command.Outputs), func(o command.Output) bool { return o == command.AsID })
	}
	return fixed(forms)(c, args, begun)
}

func (a *app) completeJobs(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.ofJobs(func(j operations.Job) []string { return []string{j.ID} })(c, args, begun)
}

// labelsOf returns the names of a job's labels, and the labels with their values.
func labelsOf(j operations.Job) (labels []string) {
	for name, value := range j.Labels {
		labels = append(labels, name, name+"="+value)
	}
	return labels
}

// ofJobs completes what the jobs have, each value once.
func (a *app) ofJobs(of func(operations.Job) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return a.ask(c, a.LedgerIfAny, begun, func(ctx context.Context, o backend.Operator) []string {
			found := map[string]bool{}
			all, _ := o.Jobs(ctx, operations.Selection{})
			for _, j := range all {
				for _, value := range of(j) {
					found[value] = true
				}
			}
			delete(found, "")
			return slices.Sorted(maps.Keys(found))
		})
	}
}

// completeRuns completes IDs of the newest runs, of one job once its ID is written.
func (a *app) completeRuns(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.ask(c, a.LedgerToRead, begun, func(ctx context.Context, o backend.Operator) (ids []string) {
		sel := operations.Selection{}
		if job, _, found := strings.Cut(begun, "@"); found {
			sel.Job = job
		}
		page, _ := o.Runs(ctx, sel, ledger.Filter{Limit: 100})
		for _, r := range page.Runs {
			ids = append(ids, r.RunID)
		}
		return ids
	})
}

// completeIncidents completes IDs of open incidents, with the job and the cause of each.
func (a *app) completeIncidents(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.ask(c, a.LedgerToRead, begun, func(ctx context.Context, o backend.Operator) (ids []string) {
		page, _ := o.Incidents(ctx, operations.Selection{}, ledger.IncidentFilter{Open: true, Limit: 100})
		for _, i := range page.Incidents {
			ids = append(ids, fmt.Sprintf("%d\t%s: %s", i.ID, i.JobID, i.Cause))
		}
		return ids
	})
}

// completeSchedules completes templates, and then the keys of their schedules.
func (a *app) completeSchedules(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.ask(c, a.LedgerIfAny, begun, func(ctx context.Context, o backend.Operator) (names []string) {
		switch len(args) {
		case 0:
			templates, _ := o.Templates(ctx)
			for _, t := range templates {
				names = append(names, t.ID)
			}
		case 1:
			list, _ := o.ListSchedules(ctx, args[0], begun, 100)
			for _, s := range list {
				names = append(names, s.Key)
			}
		}
		return names
	})
}

// completeChannels completes the registry's channels, with the type of each.
func (a *app) completeChannels(_ *cobra.Command, _ []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	if reg, err := a.Registry(); err == nil {
		for _, c := range reg.Channels() {
			names = append(names, fmt.Sprintf("%s\t%s", c.Name, c.Type))
		}
	}
	return begunWith(names, begun), cobra.ShellCompDirectiveNoFileComp
}

// ask completes with what the ledger or the server answers.
func (a *app) ask(c *cobra.Command, open func(context.Context) (ledger.Store, error), begun string, values func(context.Context, backend.Operator) []string) ([]string, cobra.ShellCompDirective) {
	o, done, err := a.Operator(c.Context(), open)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer done()
	return begunWith(values(c.Context(), o), begun), cobra.ShellCompDirectiveNoFileComp
}

// begunWith returns the values that continue the begun word. It leaves out values with control characters: the shell
// would print them to the terminal, and others wrote some of them.
func begunWith(values []string, begun string) []string {
	return slices.DeleteFunc(values, func(v string) bool {
		word, about, _ := strings.Cut(v, "\t")
		return !strings.HasPrefix(v, begun) || !plaintext.Is(word) || !plaintext.Is(about)
	})
}

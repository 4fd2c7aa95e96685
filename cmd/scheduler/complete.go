package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// completions completes the names that arguments and flags take. A question that
// cannot be answered completes nothing.
func (a *app) completions(root *cobra.Command) {
	for _, c := range root.Commands() {
		a.completions(c)
		first, _, _ := strings.Cut(strings.TrimPrefix(c.Use, c.Name()+" "), " ")
		switch first {
		case "JOB":
			c.ValidArgsFunction = a.completeJobs
		case "RUN-ID", "[RUN-ID":
			c.ValidArgsFunction = a.completeRuns
		}
		states := ledger.States
		if c.Name() == string(operations.Cancel) {
			states = ledger.Unfinished
		}
		for flag, complete := range map[string]cobra.CompletionFunc{
			"job": a.completeJobs, "state": fixed(states), "reason": fixed(ledger.Reasons),
		} {
			if c.Flags().Lookup(flag) != nil {
				_ = c.RegisterFlagCompletionFunc(flag, complete) // fails only for flags that are not there, or twice
			}
		}
	}
}

func fixed[T ~string](values []T) cobra.CompletionFunc {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)
}

func (a *app) completeJobs(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var names []string
	o, done, err := a.operator(c.Context(), a.ledgerIfAny)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer done()
	all, _ := o.Jobs(c.Context())
	for _, j := range all {
		if strings.HasPrefix(j.ID, begun) {
			names = append(names, j.ID)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeRuns(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	o, done, err := a.operator(c.Context(), a.ledgerToRead)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer done()
	f := ledger.Filter{Limit: 100}
	f.JobID, _, _ = strings.Cut(begun, "@")
	if !strings.Contains(begun, "@") {
		f.JobID = ""
	}
	page, _ := o.Runs(c.Context(), f)
	var ids []string
	for _, r := range page.Runs {
		if strings.HasPrefix(r.RunID, begun) {
			ids = append(ids, r.RunID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

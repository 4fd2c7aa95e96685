package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/ledger"
)

// mayBeEmpty annotates the flags whose empty value has a meaning.
const mayBeEmpty = "cronce_may_be_empty"

// refuseEmpty refuses empty flags and arguments: most come from a variable that
// is not set, and would select everything.
func refuseEmpty(c *cobra.Command, args []string) error {
	for _, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return usage("an argument of \"%s\" is empty; give it a value (is the variable that it comes from set?)", c.CommandPath())
		}
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, allowed := f.Annotations[mayBeEmpty]; !allowed && err == nil && emptyValue(f.Value) {
			err = usage("--%s is empty; give it a value (is the variable that it comes from set?)", f.Name)
		}
	})
	return err
}

func emptyValue(v pflag.Value) bool {
	list, ok := v.(pflag.SliceValue)
	if !ok {
		return strings.TrimSpace(v.String()) == ""
	}
	values := list.GetSlice()
	return len(values) == 0 || slices.ContainsFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// unknown is the error for a name that is none of those known, with the nearest
// of them.
func unknown(kind, name string, known []string, hint string) error {
	suggestion := suggest.DidYouMean(name, known)
	if suggestion == "" {
		suggestion = ";"
	}
	return usage("unknown %s %q%s %s", kind, name, suggestion, hint)
}

// knownCommand are the arguments of a command that only has commands below it.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return unknown("command", args[0], names, fmt.Sprintf("run \"%s --help\" for the commands", c.CommandPath()))
}

// oneOf returns the known name that is equal to the given one.
func oneOf[T ~string](kind, name string, known []T) (T, error) {
	names := make([]string, len(known))
	for i, k := range known {
		if string(k) == name {
			return k, nil
		}
		names[i] = string(k)
	}
	return "", unknown(kind, name, names, "valid "+kind+"s: "+strings.Join(names, ", "))
}

// knownJob refuses a job that neither the ledger nor the registry has. A job
// that left the registry is known as long as the ledger has runs of it.
func (a *app) knownJob(ctx context.Context, s ledger.Store, id string) error {
	if id == "" {
		return nil
	}
	runs, err := s.List(ctx, ledger.Filter{JobID: id, Limit: 1})
	if err != nil || len(runs) > 0 {
		return err
	}
	names, err := a.jobNames(ctx, s)
	if err != nil || names[id] {
		return err
	}
	return unknown("job", id, slices.Sorted(maps.Keys(names)), `"cronce jobs list" lists the jobs`)
}

// jobNames are the jobs of the ledger and, where there is one, of the registry.
func (a *app) jobNames(ctx context.Context, s ledger.Store) (map[string]bool, error) {
	names := map[string]bool{}
	statuses, err := s.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range statuses {
		names[st.JobID] = true
	}
	if reg, err := a.registry(); err == nil { // what is in the ledger can be asked without it
		for _, id := range jobIDs(reg) {
			names[id] = true
		}
	}
	return names, nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs"
)

type diffFlags struct {
	against, from string
	n             int
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff --config NEW [--against OLD]",
		Short: "Show what an edited registry would change, and change nothing",
		Long: `diff compares the registry file with the definitions in the ledger, or with
another file (--against). For each job it prints what would change and the next
scheduled times, old and new. It only reads.

A new definition takes effect when a process serves it: the old one is planned up
to that time and the new one from then on. Nothing runs retroactively. A job that
is removed or disabled ends; its planned runs still run.

Only job definitions are compared: not authorization, keyTTLs, platform,
keyStores and cleanup (see "cronce check").

Exit 0: no change. Exit 3: changes.`,
		Example: `  cronce diff --config edited.yaml
  cronce diff --config edited.yaml --against cronce.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.diff(c.Context(), f) },
	}
	c.Flags().StringVar(&f.against, "against", "", "compare with this registry `file` instead of the ledger")
	c.Flags().StringVar(&f.from, "from", "", "show scheduled times after this `time` ("+timeHelp+"; default now)")
	c.Flags().IntVarP(&f.n, "count", "n", 3, "how many scheduled times to show per side")
	return c
}

func (a *app) diff(ctx context.Context, f diffFlags) error {
	from, err := a.startOf(f.from, f.n)
	if err != nil {
		return err
	}
	reg, err := a.registry()
	if err != nil {
		return err
	}
	old, err := a.oldSide(ctx, f.against)
	if err != nil {
		return err
	}
	edited, err := sideOf(reg)
	if err != nil {
		return err
	}
	d := compare(old, edited, from, f.n)
	if err := a.printDiff(d); err != nil {
		return err
	}
	if d.Changed {
		return &exit{code: exitChanges}
	}
	return nil
}

// side is one side of a comparison: the jobs that are planned, by id.
type side struct {
	registry string // its name; empty of a ledger
	what     string
	jobs     map[string]planned
	paused   map[string]bool
}

// planned is a job as a ledger keeps it.
type planned struct {
	jobs.Job
	zones string          // the version of the time zone database
	body  json.RawMessage // nil: the default body
}

func (a *app) oldSide(ctx context.Context, file string) (side, error) {
	if file == "" {
		return a.ledgerSide(ctx)
	}
	reg, err := jobs.Load(file)
	if err != nil {
		return side{}, err
	}
	s, err := sideOf(reg)
	s.what = file
	return s, err
}

// sideOf takes a registry's jobs through the form in which a ledger keeps
// them, so that both sides are read alike.
func sideOf(reg *jobs.Registry) (side, error) {
	s := side{registry: reg.Name(), jobs: map[string]planned{}}
	for _, j := range reg.Jobs() {
		if j.Disabled {
			continue
		}
		body, _, err := j.Definition()
		if err != nil {
			return s, err
		}
		if s.jobs[j.ID], err = readDefinition(body); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (a *app) ledgerSide(ctx context.Context) (side, error) {
	s := side{what: "the ledger", jobs: map[string]planned{}, paused: map[string]bool{}}
	if !a.ledgerExists() {
		return s, fmt.Errorf("%w; or compare two files with --against", a.noLedger())
	}
	l, err := a.ledgerToRead(ctx)
	if err != nil {
		return s, err
	}
	defer l.Close()
	list, err := l.Jobs(ctx)
	if err != nil {
		return s, err
	}
	for _, j := range list {
		s.paused[j.JobID] = !j.PausedAt.IsZero()
		if j.Ended {
			continue
		}
		if s.jobs[j.JobID], err = readDefinition(j.Body); err != nil {
			return s, err
		}
	}
	return s, nil
}

func readDefinition(body []byte) (planned, error) {
	j, err := jobs.ParseDefinition(body)
	if err != nil {
		return planned{}, err
	}
	var rest struct {
		Zones string          `json:"zones"`
		Body  json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(body, &rest); err != nil {
		return planned{}, fmt.Errorf("the definition of job %q is damaged: %w", j.ID, err)
	}
	return planned{j, rest.Zones, rest.Body}, nil
}

// compare says for each job of either side what becomes of it.
func compare(old, edited side, from time.Time, n int) diffJSON {
	d := diffJSON{Against: old.what, Jobs: []jobDiff{}}
	if old.registry != "" && old.registry != edited.registry {
		d.Registry = &fieldDiff{Field: "name", Old: old.registry, New: edited.registry}
		d.Changed = true
	}
	ids := maps.Clone(old.jobs)
	maps.Copy(ids, edited.jobs)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		before, had := old.jobs[id]
		after, has := edited.jobs[id]
		j := jobDiff{ID: id, Paused: old.paused[id], Fields: []fieldDiff{}, OldNext: []string{}, NewNext: []string{}}
		if had {
			j.OldNext = texts(comingInstants(before.Parsed(), from, n))
		}
		if has {
			j.NewNext = texts(comingInstants(after.Parsed(), from, n))
		}
		switch {
		case !had:
			j.Change, j.Fields = added, fieldsOf(after).against(nil)
		case !has:
			j.Change, j.Fields = removed, fields(nil).against(fieldsOf(before))
		default:
			j.Fields = fieldsOf(after).against(fieldsOf(before))
			j.Change = same
			if len(j.Fields) > 0 {
				j.Change = changed
			}
		}
		d.Changed = d.Changed || j.Change != same
		d.Jobs = append(d.Jobs, j)
	}
	return d
}

package registry

import (
	"fmt"
	"slices"

	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/internal/terminal"
)

func (a *app) printDiff(d jobdiff.Diff) error {
	if a.Encoded() {
		return a.Encode(d)
	}
	if d.Registry != nil {
		fmt.Fprintf(a.Out, "the registry's name: %s -> %s; another name is another caller at every target, and needs a ledger of its own\n\n",
			d.Registry.Old, d.Registry.New)
	}
	counts := map[jobdiff.Change]int{}
	for _, j := range d.Jobs {
		counts[j.Change]++
		if j.Change == jobdiff.Same {
			continue
		}
		if err := a.printJobDiff(j); err != nil {
			return err
		}
	}
	for _, p := range d.Problems {
		fmt.Fprintln(a.Out, p.Error())
	}
	_, err := fmt.Fprintf(a.Out, "against %s: %d changed, %d added, %d removed, %d same\n",
		d.Against, counts[jobdiff.Changed], counts[jobdiff.Added], counts[jobdiff.Removed], counts[jobdiff.Same])
	return err
}

// introducing are the fields that are shown of a job that is added or removed. --json has all fields.
var introducing = []string{"schedule", "timezone", "target", "method", "path", "scopes"}

// printJobDiff prints the fields of a job that differ and, if they differ, its next scheduled times on both sides.
func (a *app) printJobDiff(j jobdiff.Job) error {
	terminal.Fprintf(a.Out, "%s: %s%s\n", j.ID, string(j.Change), pauseNote(j))
	t := a.Details("  FIELD", "OLD", "NEW").Folding("OLD")
	for _, f := range j.Fields {
		if j.Change != jobdiff.Changed && (!slices.Contains(introducing, f.Field) || f.Old+f.New == "none") {
			continue
		}
		t.Row("  "+f.Field, f.Old, f.New)
	}
	// Instants of a job whose schedule stays are the same on both sides.
	if !slices.Equal(j.OldNext, j.NewNext) {
		for i := range max(len(j.OldNext), len(j.NewNext), 1) {
			t.Row("  next", at(j.OldNext, i), at(j.NewNext, i))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Out)
	return err
}

func pauseNote(j jobdiff.Job) string {
	if j.Paused && j.Change != jobdiff.Removed {
		return " (paused, and stays so)"
	}
	return ""
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

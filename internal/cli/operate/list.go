package operate

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
)

// listing has the flags that limit the rows of a list, and says what was left out. A command calls check, rows, cut and
// tell in this order.
type listing struct {
	limit int
	all   bool
	note  string // what cut left out
}

// shownByDefault is the number of rows that a list shows by default.
const shownByDefault = 20

func (l *listing) flags(c *cobra.Command, what string) {
	c.Flags().IntVar(&l.limit, "limit", shownByDefault, "maximum number of "+what)
	c.Flags().BoolVar(&l.all, "all", false, "list all "+what)
}

// check refuses limits that contradict each other.
func (l *listing) check(c *cobra.Command) error {
	switch {
	case l.limit < 1:
		return command.Usage("invalid --limit %d; it must be at least 1", l.limit)
	case l.all && c.Flags().Changed("limit"):
		return command.Usage("--all and --limit contradict each other; give one")
	}
	return nil
}

// rows returns the number of rows to ask for: more than are shown, to tell how many there are.
func (l *listing) rows() int {
	if l.all {
		return math.MaxInt32 - 1
	}
	return max(l.limit, operations.MaxPage)
}

// cut returns the rows to show. tell then says how many are left out.
func cut[T any](l *listing, rows []T) []T {
	if l.all || len(rows) <= l.limit {
		return rows
	}
	total := fmt.Sprint(len(rows))
	if len(rows) >= operations.MaxPage {
		total += " or more"
	}
	l.note = fmt.Sprintf("showing %d of %s; --all shows all", l.limit, total)
	return rows[:l.limit]
}

// tell prints what a list leaves out, on standard error, so that a list that a
// program reads is never cut unnoticed.
func (l *listing) tell(a *app) {
	if l.note != "" {
		fmt.Fprintln(a.Err, l.note)
	}
}

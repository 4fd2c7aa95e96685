package cli

import (
	"time"

	"github.com/cronce/cronce/internal/terminal"
)

// table returns a table for standard output, as wide as the terminal.
func (a *app) table(columns ...string) *terminal.Table {
	width := 0
	if !a.wide {
		width = terminal.Width(a.out)
	}
	t := terminal.NewTable(a.out, width, columns...).Showing(a.times)
	if a.colored(a.out) {
		t.Coloring(colorOf)
	}
	return t
}

// details returns a table about one thing, which shows times in full.
func (a *app) details(columns ...string) *terminal.Table {
	return a.table(columns...).Showing(a.timesInFull)
}

// rfc3339 prints a time as the ledger means it: UTC, RFC 3339; "" for none.
func rfc3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

package command

import (
	"time"

	"github.com/cronce/cronce/internal/terminal"
)

// Table returns a table for standard output, as wide as the terminal.
func (env *Env) Table(columns ...string) *terminal.Table {
	width := 0
	if !env.Wide {
		width = terminal.Width(env.Out)
	}
	t := terminal.NewTable(env.Out, width, columns...).Showing(env.times)
	if env.Colored(env.Out) {
		t.Coloring(ColorOf)
	}
	return t
}

// Details returns a table about one thing, which shows times in full.
func (env *Env) Details(columns ...string) *terminal.Table {
	return env.Table(columns...).Showing(env.TimesInFull)
}

// NextText returns the next scheduled time of a job, or why it has none.
func NextText(next string, enabled bool) string {
	switch {
	case !enabled:
		return "disabled"
	case next == "":
		return "never again"
	}
	return next
}

// Shift says how the local clock moved between two scheduled times, if it did.
func Shift(before, after time.Time) string {
	_, was := before.Zone()
	_, is := after.Zone()
	if was == is {
		return ""
	}
	d := time.Duration(is-was) * time.Second
	if d > 0 {
		return "forward " + d.String()
	}
	return "back " + (-d).String()
}

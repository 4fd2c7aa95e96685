package command

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/terminal"
)

// checkDisplayFlags returns a usage error if the flags for colors and times have
// unknown values or contradict each other.
func (env *Env) checkDisplayFlags() error {
	if _, err := OneOf("color", env.color, []string{"auto", "always", "never"}); err != nil {
		return err
	}
	if env.utc && env.Local {
		return Usage("--utc and --local contradict each other; give one")
	}
	return nil
}

// Colored reports whether text on w has colors: on a terminal, unless NO_COLOR
// (no-color.org) is set or the terminal is dumb; --color overrides both.
func (env *Env) Colored(w io.Writer) bool {
	switch env.color {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal.Is(w) && env.Getenv("NO_COLOR", "") == "" && env.Getenv("TERM", "") != "dumb"
}

// stateStyle is the symbol and the color of a state on a terminal.
type stateStyle struct {
	symbol string
	color  terminal.Color
}

var stateStyles = map[string]stateStyle{
	"planned": {"○", terminal.Plain}, "running": {"●", terminal.Blue}, "accepted": {"◐", terminal.Blue}, "fanned_out": {"◐", terminal.Blue},
	"retrying":  {"↻", terminal.Yellow},
	"succeeded": {"✓", terminal.Green}, "dead": {"✗", terminal.Red}, "missed": {"!", terminal.Yellow},
	"skipped": {"–", terminal.Faint}, "superseded": {"–", terminal.Faint}, "canceled": {"–", terminal.Faint},
	"active": {"✓", terminal.Green}, "paused": {"‖", terminal.Yellow}, "disabled": {"–", terminal.Faint}, "new": {"○", terminal.Plain},
	"open": {"✗", terminal.Red}, "acknowledged": {"!", terminal.Yellow}, "closed": {"✓", terminal.Green},
	"alive": {"✓", terminal.Green}, "gone": {"✗", terminal.Red}, "failing": {"✗", terminal.Red}, "unfit": {"✗", terminal.Red},
}

// State puts a state's symbol before a text that begins with the state, on a
// terminal or in color.
func (env *Env) State(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if l, known := stateStyles[word]; known && (terminal.Is(env.Out) || env.Colored(env.Out)) {
		return l.symbol + " " + text
	}
	return text
}

// ColorOf returns the color of a text that State made.
func ColorOf(text string) terminal.Color {
	words := strings.Fields(text)
	if len(words) > 1 {
		if l, known := stateStyles[words[1]]; known && l.symbol == words[0] {
			return l.color
		}
	}
	return terminal.Plain
}

// timestamp is a time as the ledger has it. In a run ID it follows an @ or a slash.
var timestamp = regexp.MustCompile(`(^|[ (])(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)\b`)

// times shows the times in a text as --utc and --local have them; with neither, as
// they are, and on a terminal as distances from now.
func (env *Env) times(text string) string {
	return env.eachTime(text, func(_ string, t time.Time) string { return relative(t, env.Now()) })
}

// TimesInFull is like times, but on a terminal it writes each time before its distance from now.
func (env *Env) TimesInFull(text string) string {
	return env.eachTime(text, func(as string, t time.Time) string { return as + " (" + relative(t, env.Now()) + ")" })
}

// eachTime replaces the times in a text: by local ones with --local, and on a terminal, unless --utc is set, by what
// onTerminal makes of them. Programs that read the output get the times as they are.
func (env *Env) eachTime(text string, onTerminal func(as string, t time.Time) string) string {
	if env.utc || !env.Local && !terminal.Is(env.Out) {
		return text
	}
	return timestamp.ReplaceAllStringFunc(text, func(match string) string {
		before, as := "", match
		if strings.ContainsAny(match[:1], " (") {
			before, as = match[:1], match[1:]
		}
		t, err := time.Parse(time.RFC3339, as)
		switch {
		case err != nil:
			return match
		case env.Local:
			return before + t.Local().Format(time.RFC3339)
		}
		return before + onTerminal(as, t)
	})
}

// relative writes the distance of a time from now in its largest unit.
func relative(t, now time.Time) string {
	d := now.Sub(t).Round(time.Second)
	form := "%s ago"
	if d < 0 {
		d, form = -d, "in %s"
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf(form, fmt.Sprintf("%ds", d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf(form, fmt.Sprintf("%dm", d/time.Minute))
	case d < 2*day:
		return fmt.Sprintf(form, fmt.Sprintf("%dh", d/time.Hour))
	}
	return fmt.Sprintf(form, fmt.Sprintf("%dd", d/day))
}

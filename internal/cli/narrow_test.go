package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// screen is a terminal of so many columns.
type screen struct {
	strings.Builder
	width int
}

func (s *screen) Columns() int { return s.width }

// Listings on a terminal of 80 columns, and with --wide.
func TestGoldenNarrowTerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	d.write("edited.yaml", edited)
	var text strings.Builder
	for _, command := range []string{
		"check", "jobs list", "jobs show close-books", "runs list", "runs list --limit 8", "runs list --wide",
		"runs show release-locks@2026-11-21T07:00:00Z", "next close-books -n 2", "diff --config " + d.path("edited.yaml"),
	} {
		out := &screen{width: 80}
		var errs strings.Builder
		code := runAt(t.Context(), strings.Fields(command), streams{strings.NewReader(""), out, &errs}, d.lookup, func() time.Time { return noon })
		if code != exitDone && code != exitChanges {
			t.Errorf("%s: exit %d: %s", command, code, &errs)
		}
		fmt.Fprintf(&text, "$ cronce %s\n%s\n", strings.ReplaceAll(command, d.dir, "DIR"), out)
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line) > 81 && !strings.Contains(command, "--wide") {
				t.Errorf("%s: more than 80 characters: %s", command, line)
			}
		}
	}
	golden(t, "narrow", withoutRelease(text.String()))
}

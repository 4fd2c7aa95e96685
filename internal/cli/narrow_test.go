package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
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

// Actions of long names on long run IDs fit a terminal, and so does the note about the
// columns that do not.
func TestActionsFitATerminal(t *testing.T) {
	t.Parallel()
	run := "release-locks@2026-11-21T07:00:00Z~0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	acts := []operations.AuditEntry{
		{Act: ledger.ActionRerun, At: "2026-11-21T11:00:00.000Z", By: "ann", Via: ledger.ViaCLI, Why: strings.Repeat("again ", 40), RunID: run, RerunID: run},
		{Act: ledger.ActionAck, At: "2026-11-21T11:00:00.000Z", By: strings.Repeat("b", 200), Via: ledger.ViaAPI, Why: "x", RunID: run},
	}
	for width, shown := range map[int]string{40: "(not shown:", 80: "2026-11-21T11", 200: run} {
		for n := range acts {
			out := &screen{width: width}
			a := &app{streams: streams{out: out}, lookup: func(string) (string, bool) { return "", false }, now: func() time.Time { return noon }}
			if err := a.printActs(acts[n:]); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), shown) {
				t.Errorf("at %d: no %s in\n%s", width, shown, out)
			}
			for line := range strings.Lines(out.String()) {
				if utf8.RuneCountInString(line) > width+1 {
					t.Errorf("at %d: %s", width, line)
				}
			}
		}
	}
}

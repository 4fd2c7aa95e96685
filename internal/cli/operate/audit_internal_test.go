package operate

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Actions of long names on long run IDs fit a terminal, and so does the note about the
// columns that do not.
func TestActionsFitATerminal(t *testing.T) {
	t.Parallel()
	run := "release-locks@2026-11-21T07:00:00Z~0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	acts := []operations.AuditEntry{
		{Action: ledger.ActionRerun, At: "2026-11-21T11:00:00.000Z", By: "ann", Via: ledger.ViaCLI, Why: strings.Repeat("again ", 40), RunID: run, RerunID: run},
		{Action: ledger.ActionAck, At: "2026-11-21T11:00:00.000Z", By: strings.Repeat("b", 200), Via: ledger.ViaAPI, Why: "x", RunID: run},
	}
	for width, shown := range map[int]string{40: "(not shown:", 80: "2026-11-21T11", 200: run} {
		for n := range acts {
			out := &screen{width: width}
			a := &app{&backend.Backend{Env: &command.Env{Out: out, Lookup: func(string) (string, bool) { return "", false }, Now: func() time.Time { return noon }}}}
			if err := a.printAudit(acts[n:]); err != nil {
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

// screen is a terminal.
type screen struct {
	strings.Builder
	width int
}

func (s *screen) Columns() int { return s.width }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

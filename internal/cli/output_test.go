package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/cli/command"
)

// shown are commands that print values for programs, beside those that act.
var shown = []string{
	"jobs list", "jobs show close-books", "runs list --limit 3", "runs show release-locks@2026-11-21T07:00:00Z", "incidents list --closed", "incidents show 1",
	"status", "why close-books 2026-11-21T00:00:00Z", "next close-books -n 2", "check --no-env", "diff", "purge --dry-run", "version", "migrate status",
	"jobs pause new-year --why x", "jobs resume new-year --why x", "runs ack release-locks@2026-11-21T08:00:00Z --why x",
	"backfill release-locks --from 2026-11-21T02:00:00Z --to 2026-11-21T11:00:00Z --dry-run", "incidents ack 2 --why x",
}

// paths are the fields of a value, with their types.
func paths(at string, v any) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			list = append(list, paths(at+"."+name, value)...)
		}
	case []any:
		for _, value := range v {
			list = append(list, paths(at+"[]", value)...)
		}
	default:
		list = append(list, fmt.Sprintf("%s %T", at, v))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// The shapes are those of version 1: a change of this file that renames or removes
// a field raises outputVersion.
func TestGoldenShapes(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, line := range shown {
		d := newDesk(t, membershipRegistry)
		d.history()
		_, out, errs := d.run(append(strings.Fields(line), "--json")...)
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%s: %v: %s%s", line, err, out, errs)
		}
		fmt.Fprintf(&text, "$ cronce %s --json\n%s\n\n", line, strings.Join(paths("", v), "\n"))
	}
	golden(t, "shapes", text.String())
}

func TestGoldenIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	var text strings.Builder
	for _, line := range []string{
		"jobs list", "jobs show close-books", "jobs pause new-year --why x", "runs list --limit 2", "runs list --job close-books --state dead", "runs show release-locks@2026-11-21T07:00:00Z",
		"runs ack release-locks@2026-11-21T08:00:00Z --why x", "incidents list", "incidents show 2", "incidents ack 2 --why x", "status", "check", "next close-books", "version",
	} {
		text.WriteString(d.transcript(append(strings.Fields(line), "-o", "id")...))
	}
	for _, line := range []string{"runs list -o jsn", "runs list --json -o id", "runs list -o yaml", "runs list --json -o json --limit 1", "runs list --utc --local", "runs list --color yes", "runs list --all --limit 3", "incidents list --limit -1"} {
		text.WriteString(d.transcript(strings.Fields(line)...))
	}
	golden(t, "output", text.String())
}

func TestAListSaysHowManyRunsItLeavesOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	_, all, _ := d.run("runs", "list", "--all", "-o", "id")
	n := strings.Count(all, "\n")
	for _, form := range command.Outputs {
		_, out, errs := d.run("runs", "list", "--limit", "2", "-o", string(form))
		if want := fmt.Sprintf("showing 2 of %d; --all shows all\n", n); n < 3 || errs != want || out == all {
			t.Errorf("%s: %q, want %q", form, errs, want)
		}
	}
}

// On a terminal states have symbols and colors, and times are distances.
func TestGoldenColors(t *testing.T) {
	t.Parallel()
	d := newDesk(t, membershipRegistry)
	d.history()
	delete(d.env, "NO_COLOR")
	var text strings.Builder
	for _, line := range []string{"runs list --limit 4", "runs show release-locks@2026-11-21T07:00:00Z", "jobs list", "incidents list", "runs list --limit 2 --color never", "runs list --limit 2 --utc"} {
		out := &screen{width: 80}
		var errs strings.Builder
		if code := runAt(t.Context(), strings.Fields(line), streams{strings.NewReader(""), out, &errs}, d.lookup, func() time.Time { return noon }); code != exitDone {
			t.Errorf("%s: exit %d: %s", line, code, &errs)
		}
		fmt.Fprintf(&text, "$ cronce %s\n%s\n", line, strings.ReplaceAll(out.String(), "\x1b", "ESC"))
	}
	golden(t, "colors", text.String())
}

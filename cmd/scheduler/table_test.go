package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A target's words and people's reasons are printed: they must not move the
// cursor, clear the screen or pass for other cells and lines.
func TestTablesKeepControlCharactersFromTheTerminal(t *testing.T) {
	var b strings.Builder
	table := newTable(&b, "run", "why")
	table.row("j@1", "a\x1b[2Jb\tc\rd\ne\u009b31mf")
	if err := table.flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "run  why\nj@1  a [2Jb c d e 31mf\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

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
	golden(t, "narrow", text.String())
}

// Space goes to the most important columns, whatever their order; what has no
// space is named.
func TestTableFits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		width int
		want  string
	}{
		{0, "id    size  note                               at\njob1  10    one two three four five six seven  now\n"},
		{46, "id    size  note                           at\njob1  10    one two three four five six    now\n            seven\n"},
		{36, "id    note                       at\njob1  one two three four five    now\n      six seven\n(not shown: size; --wide shows all)\n"},
		{5, "id    note\njob1  one two three four five\n      six seven\n(not shown: size, at; --wide shows all)\n"},
	} {
		b := &strings.Builder{}
		table := newTable(b, "id", "size", "note", "at").optional("at", "size").folding("note")
		table.width = test.width
		table.row("job1", "10", "one two three four five six seven", "now")
		if err := table.flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want {
			t.Errorf("at %d:\n%swant\n%s", test.width, b, test.want)
		}
	}
}

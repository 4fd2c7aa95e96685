package terminal_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A target's words and people's reasons are printed: they must not move the
// cursor, clear the screen or pass for other cells and lines.
func TestTablesKeepControlCharactersFromTheTerminal(t *testing.T) {
	var b strings.Builder
	table := terminal.NewTable(&b, 0, "run", "why")
	table.Row("j@1", "a\x1b[2Jb\tc\rd\ne\u009b31mf")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "run  why\nj@1  a\ufffd[2Jb c d e\ufffd31mf\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
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
		{5, "id    note\njob1  one two three four five\n      six seven\n(not\nshown:\nsize,\nat;\n--wide\nshows\nall)\n"},
	} {
		b := &strings.Builder{}
		table := terminal.NewTable(b, test.width, "id", "size", "note", "at").Optional("at", "size").Folding("note")
		table.Row("job1", "10", "one two three four five six seven", "now")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want {
			t.Errorf("at %d:\n%swant\n%s", test.width, b, test.want)
		}
	}
}

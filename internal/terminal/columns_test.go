package terminal_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/terminal"
)

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "Ａ": 2, "🎉": 2, "✗ dead": 6, "a\u200bb": 2} {
		if got := terminal.Columns(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

// Cells of wide characters do not move the columns behind them.
func TestWideCellsStayInTheirColumns(t *testing.T) {
	var b strings.Builder
	table := terminal.NewTable(&b, 0, "WHAT", "NEXT")
	table.Row("日本", "x")
	table.Row("abcde", "x")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "WHAT   NEXT\n日本   x\nabcde  x\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

package main

import (
	"strings"
	"testing"
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

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	columnGap = "  "
	// foldedWidth is the width that a folding column keeps at least, when its
	// cells are that long: a time to the millisecond.
	foldedWidth = 24
)

// table prints rows in aligned columns. On a terminal it fits them into the
// width: optional columns are left out, and long cells fold into further lines.
// Elsewhere it prints all of them, one line a row.
type table struct {
	w       io.Writer
	width   int // 0: unlimited
	columns []column
	rows    [][]string
}

type column struct {
	name    string
	natural int // width of the widest cell
	width   int // as printed
	rank    int // 0: always shown; else the order in which space is given
	folds   bool
	shown   bool
}

// table returns a table for standard output. Its last column folds.
func (a *app) table(columns ...string) *table {
	t := newTable(a.out, columns...)
	if !a.wide {
		t.width = terminalWidth(a.out)
	}
	return t
}

func newTable(w io.Writer, columns ...string) *table {
	t := &table{w: w, columns: make([]column, len(columns))}
	for i, name := range columns {
		t.columns[i].name = strings.TrimSpace(name)
	}
	t.columns[len(columns)-1].folds = true
	t.row(columns...)
	return t
}

// optional names the columns that a narrow terminal may leave out, the most
// important first.
func (t *table) optional(columns ...string) *table {
	for i, name := range columns {
		t.column(name).rank = i + 1
	}
	return t
}

// folding names more columns whose cells may fold.
func (t *table) folding(columns ...string) *table {
	for _, name := range columns {
		t.column(name).folds = true
	}
	return t
}

func (t *table) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	panic("the table has no column " + name)
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		if c == "" {
			c = "-"
		}
		cells[i] = strings.Map(oneLine, c)
		t.columns[i].natural = max(t.columns[i].natural, utf8.RuneCountInString(cells[i]))
	}
	t.rows = append(t.rows, cells)
}

// oneLine keeps what people and targets wrote from moving the cursor, or into
// another cell.
func oneLine(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// flush prints the table, and below it the columns that were left out.
func (t *table) flush() error {
	t.fit()
	var text strings.Builder
	for _, cells := range t.rows {
		t.print(&text, cells)
	}
	var omitted []string
	for _, c := range t.columns {
		if !c.shown {
			omitted = append(omitted, c.name)
		}
	}
	if len(omitted) > 0 {
		fmt.Fprintf(&text, "(not shown: %s; --wide shows all)\n", strings.Join(omitted, ", "))
	}
	_, err := io.WriteString(t.w, text.String())
	return err
}

// fit chooses the columns to show and their widths.
func (t *table) fit() {
	free := t.width + len(columnGap) // each column brings a gap, and the first needs none
	for rank := range len(t.columns) + 1 {
		for i := range t.columns {
			c := &t.columns[i]
			if c.rank != rank {
				continue
			}
			c.width = c.natural
			if c.folds && t.width > 0 {
				c.width = min(c.natural, foldedWidth)
			}
			needed := c.width + len(columnGap)
			if c.shown = t.width == 0 || rank == 0 || needed <= free; c.shown {
				free -= needed
			}
		}
	}
	for i := range t.columns { // what is left goes to the cells that would fold
		c := &t.columns[i]
		if more := min(c.natural-c.width, free); c.shown && more > 0 {
			c.width += more
			free -= more
		}
	}
}

func (t *table) print(text *strings.Builder, cells []string) {
	var folded [][]string
	var widths []int
	height := 0
	for i, c := range t.columns {
		if !c.shown {
			continue
		}
		lines := []string{cells[i]}
		if c.width < c.natural {
			lines = foldWords(cells[i], c.width)
		}
		folded, widths, height = append(folded, lines), append(widths, c.width), max(height, len(lines))
	}
	for n := range height {
		var line strings.Builder
		for i, lines := range folded {
			cell := ""
			if n < len(lines) {
				cell = lines[n]
			}
			fmt.Fprintf(&line, "%-*s%s", widths[i], cell, columnGap)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// foldWords breaks text at spaces into lines of at most width characters. A
// longer word stays whole, so that it can be copied.
func foldWords(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// isTerminal reports whether w is a terminal that can be drawn on.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the characters in a line of w, 0 where that has no
// limit.
func terminalWidth(w io.Writer) int {
	switch w := w.(type) {
	case interface{ Columns() int }:
		return w.Columns()
	case *os.File:
		if width, _, err := term.GetSize(int(w.Fd())); err == nil {
			return width
		}
	}
	return 0
}

package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
)

const (
	columnGap = "  "
	// foldedWidth is the width that a folding column keeps at least, when its
	// cells are that long: a time to the millisecond.
	foldedWidth = 24
)

// Table prints rows in aligned columns. Within a width it fits them: optional
// columns are left out, and long cells fold into further lines. Without one it
// prints all of them, one line a row.
type Table struct {
	w       io.Writer
	width   int // 0: unlimited
	columns []column
	rows    [][]string
	show    func(cell string) string
	color   func(cell string) Color
}

type column struct {
	name    string
	natural int // width of the widest cell
	width   int // as printed
	rank    int // 0: always shown; else the order in which space is given
	folds   bool
	shown   bool
}

// NewTable returns a table that Flush prints to w, within a width in
// characters; 0 is no limit. Its last column folds.
func NewTable(w io.Writer, width int, columns ...string) *Table {
	t := &Table{w: w, width: width, columns: make([]column, len(columns))}
	for i, name := range columns {
		t.columns[i].name = strings.TrimSpace(name)
	}
	t.columns[len(columns)-1].folds = true
	t.Row(columns...)
	return t
}

// Optional names the columns that a narrow terminal may leave out, the most
// important first.
func (t *Table) Optional(columns ...string) *Table {
	for i, name := range columns {
		t.column(name).rank = i + 1
	}
	return t
}

// Folding names more columns whose cells may fold.
func (t *Table) Folding(columns ...string) *Table {
	for _, name := range columns {
		t.column(name).folds = true
	}
	return t
}

func (t *Table) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	panic("the table has no column " + name)
}

// Showing sets how the cells of further rows are shown.
func (t *Table) Showing(show func(cell string) string) *Table {
	t.show = show
	return t
}

// Coloring sets the color of each cell, as it is shown.
func (t *Table) Coloring(color func(cell string) Color) *Table {
	t.color = color
	return t
}

// Row adds a row; an empty cell prints as "-".
func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		if c == "" {
			c = "-"
		}
		if t.show != nil {
			c = t.show(c)
		}
		cells[i] = plaintext.Line(c)
		t.columns[i].natural = max(t.columns[i].natural, Columns(cells[i]))
	}
	t.rows = append(t.rows, cells)
}

// Flush prints the table, and below it the columns that were left out.
func (t *Table) Flush() error {
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
		note := fmt.Sprintf("(not shown: %s; --wide shows all)", strings.Join(omitted, ", "))
		text.WriteString(strings.Join(foldWords(note, t.width), "\n") + "\n")
	}
	_, err := io.WriteString(t.w, text.String())
	return err
}

// fit chooses the columns to show and their widths.
func (t *Table) fit() {
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

func (t *Table) print(text *strings.Builder, cells []string) {
	var folded [][]string
	var widths []int
	var colors []Color
	height := 0
	for i, c := range t.columns {
		if !c.shown {
			continue
		}
		lines := []string{cells[i]}
		if c.width < c.natural {
			lines = foldWords(cells[i], c.width)
		}
		color := Plain
		if t.color != nil {
			color = t.color(cells[i])
		}
		folded, widths, colors, height = append(folded, lines), append(widths, c.width), append(colors, color), max(height, len(lines))
	}
	for n := range height {
		var line strings.Builder
		for i, lines := range folded {
			cell := ""
			if n < len(lines) {
				cell = lines[n]
			}
			padding := strings.Repeat(" ", max(0, widths[i]-Columns(cell)))
			line.WriteString(colors[i].Paint(cell) + padding + columnGap)
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
		case Columns(line)+1+Columns(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

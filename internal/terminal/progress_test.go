package terminal_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/terminal"
)

type screen struct{ strings.Builder }

func (*screen) Columns() int { return 80 }

func TestBarIsNeverFullerThanFull(t *testing.T) {
	for part, full := range map[float64]int{-1: 0, 0: 0, 0.5: 15, 1: 30, 7: 30} {
		if got, want := terminal.Bar(part), "["+strings.Repeat("#", full)+strings.Repeat(".", 30-full)+"]"; got != want {
			t.Errorf("%v: %s, want %s", part, got, want)
		}
	}
}

// Progress is drawn over itself, and only on a terminal.
func TestALineIsDrawnOverItself(t *testing.T) {
	file := &strings.Builder{}
	none := terminal.NewLine(file)
	none.Show("half")
	none.Clear()
	none.Keep("done")
	if file.Len() != 0 {
		t.Errorf("drawn without a terminal: %q", file)
	}
	s := &screen{}
	line := terminal.NewLine(s)
	line.Show("half")
	line.Show("at once after") // too soon to be seen
	line.Clear()
	line.Keep("done")
	if want := "\r\x1b[Khalf\r\x1b[K\r\x1b[Kdone\n"; s.String() != want {
		t.Errorf("drew %q, want %q", s, want)
	}
}

package web

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// A kind names what a cell shows: the run's state, and "replayed" for a success
// whose answer was a stored one. Each has a color (the style's class of this
// name) and a shape of its own.
type kind string

const (
	replayed kind = "replayed"
	none     kind = "none"
)

// kinds lists all kinds, in the order of the legend.
var kinds = func() []kind {
	var list []kind
	for _, s := range ledger.States {
		list = append(list, kind(s))
		if s == ledger.Succeeded {
			list = append(list, replayed)
		}
	}
	return list
}()

// kindOf returns the kind of a run in a state. wasReplayed says that the answer was a stored one.
func kindOf(s ledger.State, wasReplayed bool) kind {
	if s == ledger.Succeeded && wasReplayed {
		return replayed
	}
	return kind(s)
}

// A subpath is one closed figure of a shape: where it begins, and on from there.
type subpath struct {
	x, y float64
	rest string
}

// shapes has the figures of each kind, in a box of 8 by 14. Figures within others are holes. Every kind has a shape of
// its own, for people who do not tell the colors apart. A test requires one of each state.
var shapes = map[kind][]subpath{
	kind(ledger.Planned):    {{1, 7, "a3 3 0 1 0 6 0a3 3 0 1 0-6 0z"}, {2.5, 7, "a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0z"}},
	kind(ledger.Running):    {{0, 7, "a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"}},
	kind(ledger.Accepted):   {{0, 7, "a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"}, {2.4, 7, "a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0-3.2 0z"}},
	kind(ledger.FannedOut):  {{0, 0, "h8v4h-8z"}, {0, 5, "h8v4h-8z"}, {0, 10, "h8v4h-8z"}},
	kind(ledger.Retrying):   {{4, 1.5, "l4 5.5-4 5.5-4-5.5z"}},
	kind(ledger.Succeeded):  {{0, 0, "h8v14h-8z"}},
	replayed:                {{0, 0, "h8v14h-8z"}, {2.4, 5, "h3.2v4h-3.2z"}},
	kind(ledger.Dead):       {{0, 2, "l2-2 2 4.4 2-4.4 2 2-2.3 5 2.3 5-2 2-2-4.4-2 4.4-2-2 2.3-5z"}},
	kind(ledger.Skipped):    {{0, 5.4, "h8v3.2h-8z"}},
	kind(ledger.Missed):     {{0, 0, "h8v14h-8z"}, {1.8, 1.8, "v10.4h4.4v-10.4z"}},
	kind(ledger.Superseded): {{1, 2, "l6.5 5-6.5 5z"}},
	kind(ledger.Canceled):   {{0, 14, "l5.4-14h2.6l-5.4 14z"}},
	none:                    {{3, 6, "h2v2h-2z"}},
}

// shapeAt returns a kind's shape as SVG path data. x and y are the upper left corner of its box.
func shapeAt(k kind, x, y float64) string {
	figures, ok := shapes[k]
	if !ok {
		figures = shapes[kind(ledger.Planned)]
	}
	var b strings.Builder
	for _, f := range figures {
		fmt.Fprintf(&b, "M%g %g%s", x+f.x, y+f.y, f.rest)
	}
	return b.String()
}

// A strip is a job's last scheduled times in one picture, oldest first: one path
// for each kind, so that a page can have many.
type strip struct {
	Width int
	Paths []stripPath
	Label string // what it shows, in words
}

// stripPath is the path of all cells of one kind.
type stripPath struct {
	Kind kind
	D    string
}

// stripPitch is the distance from one cell to the next: a cell of 8, and a gap.
const stripPitch = 10

// newStrip draws cells, which come newest first, right-aligned in room for n.
func newStrip(cells []ledger.RunSummary, n int) strip {
	s := strip{Width: n*stripPitch - 2}
	d := map[kind]*strings.Builder{}
	counts := map[kind]int{}
	for i := range n {
		k, times := none, 0
		if i < len(cells) {
			k, times = kindOf(cells[i].State, cells[i].Replayed), cells[i].Count
		}
		if d[k] == nil {
			d[k] = &strings.Builder{}
		}
		counts[k] += times
		d[k].WriteString(shapeAt(k, float64((n-1-i)*stripPitch), 0))
	}
	for _, k := range append([]kind{none}, kinds...) {
		if d[k] != nil {
			s.Paths = append(s.Paths, stripPath{k, d[k].String()})
		}
	}
	s.Label = tally(counts)
	return s
}

// tally writes counts in words, in the order of kinds: "27 succeeded, 2 dead".
func tally(counts map[kind]int) string {
	var parts []string
	for _, k := range kinds {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(counts[k]), k))
		}
	}
	if len(parts) == 0 {
		return "no scheduled time yet"
	}
	return strings.Join(parts, ", ")
}

// thousands writes 12345 as 12,345.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

package archtest_test

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/archtest"
	"github.com/cronce/cronce/ledger"
)

var (
	flowchart = regexp.MustCompile("(?s)```mermaid\nflowchart TD\n(.*?)```")
	node      = regexp.MustCompile(`(\w+)(?:\["([^":]*)[^"]*"\])?`)
)

// diagram is CONTRIBUTING.md's picture of the packages: the directories of each
// node, and the arrows between nodes.
type diagram struct {
	dirs   map[string][]string
	arrows map[string][]string
}

func readDiagram(t *testing.T) diagram {
	t.Helper()
	drawn := flowchart.FindStringSubmatch(pages(t)["CONTRIBUTING.md"])
	if drawn == nil {
		t.Fatal("CONTRIBUTING.md has no diagram of the packages")
	}
	d := diagram{map[string][]string{}, map[string][]string{}}
	for line := range strings.Lines(drawn[1]) {
		var from []string
		for _, side := range strings.Split(line, "-->") {
			var nodes []string
			for _, n := range node.FindAllStringSubmatch(side, -1) {
				nodes = append(nodes, n[1])
				if n[2] != "" || d.dirs[n[1]] == nil {
					d.dirs[n[1]] = strings.Split(cmp.Or(n[2], n[1]), ", ")
				}
			}
			for _, f := range from {
				d.arrows[f] = append(d.arrows[f], nodes...)
			}
			from = nodes
		}
	}
	return d
}

// follows reports whether arrows lead from one node to another.
func (d diagram) follows(from, to string) bool {
	return slices.ContainsFunc(d.arrows[from], func(next string) bool { return next == to || d.follows(next, to) })
}

// A reader learns the imports from the diagram: each arrow is one, and each import
// between packages that are drawn is an arrow or follows from arrows.
func TestTheDiagramOfThePackagesIsTrue(t *testing.T) {
	d := readDiagram(t)
	m, err := archtest.Load(root, "idempotency")
	if err != nil {
		t.Fatal(err)
	}
	if len(d.dirs) < 15 {
		t.Fatalf("found %d nodes; the diagram is read wrongly", len(d.dirs))
	}
	for name, dirs := range d.dirs {
		d.dirs[name] = expand(m, dirs)
	}
	for from := range d.dirs {
		for to := range d.dirs {
			imports := false
			for _, dir := range d.dirs[from] {
				p := m.Packages[dir]
				if p == nil {
					t.Fatalf("the diagram has %s, which is no package", dir)
				}
				imports = imports || slices.ContainsFunc(slices.Collect(maps.Keys(p.Imports)), func(path string) bool {
					return slices.Contains(d.dirs[to], strings.TrimPrefix(path, m.Path+"/"))
				})
			}
			switch drawn := slices.Contains(d.arrows[from], to); {
			case drawn && !imports:
				t.Errorf("the diagram has an arrow from %s to %s, and there is no such import", from, to)
			case imports && from != to && !drawn && !d.follows(from, to):
				t.Errorf("%s imports %s, which the diagram does not show", from, to)
			}
		}
	}
}

// expand replaces "dir/..." by the packages in and below dir.
func expand(m *archtest.Module, dirs []string) (all []string) {
	for _, dir := range dirs {
		below, tree := strings.CutSuffix(dir, "...")
		if !tree {
			all = append(all, dir)
			continue
		}
		for found := range m.Packages {
			if strings.HasPrefix(found+"/", below) {
				all = append(all, found)
			}
		}
	}
	return all
}

var (
	stateDiagram = regexp.MustCompile("(?s)```mermaid\nstateDiagram-v2\n(.*?)```")
	move         = regexp.MustCompile(`(?m)^  (\w+) --> (\w+):`)
)

// A run goes from state to state as the diagram draws, and not otherwise.
func TestTheDiagramOfTheStatesIsTrue(t *testing.T) {
	text := stateDiagram.FindString(pages(t)["docs/design.md"])
	var drawn, moves []string
	for _, m := range move.FindAllStringSubmatch(text, -1) {
		drawn = append(drawn, m[1]+" --> "+m[2])
	}
	for _, from := range ledger.States {
		for _, to := range ledger.States {
			if ledger.CanMove(from, to) {
				moves = append(moves, string(from)+" --> "+string(to))
			}
		}
	}
	slices.Sort(drawn)
	slices.Sort(moves)
	if !slices.Equal(drawn, moves) {
		t.Errorf("docs/design.md draws\n%s\nand ledger/state.go has\n%s", strings.Join(drawn, "\n"), strings.Join(moves, "\n"))
	}
}

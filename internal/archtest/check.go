package archtest

import (
	"fmt"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// Law is what a module's packages may import. Patterns are those of the go
// command: "a/b" is that package, "a/b/..." it and all below it, "..." all.
type Law struct {
	Layers []Layer
	Bans   []Ban
	Edges  []Edge
	Names  []Names
}

// Layer lists all that some packages may import of the module itself.
type Layer struct {
	In  []string
	May []string
	Why string
}

// Ban keeps packages away from imports, also from those that they would reach
// through other packages of the module.
type Ban struct {
	In  []string
	Not []string
	Why string
}

// Edge says which packages a library of another module is for. A library
// without an edge may be imported nowhere.
type Edge struct {
	Library string // an import path or a module's
	At      []string
	Why     string
}

// Names bans single names, such as "time.Now", from packages other than main.
type Names struct {
	In  []string
	Not []string
	Why string
}

// Check lists the module's violations of the law, and those of what holds for
// every package: it has a doc comment, no file or package is named after the
// fact that nobody knew where its contents belong, and its tests look for
// goroutines.
func Check(m *Module, law Law) []string {
	var found []string
	for _, dir := range m.dirs() {
		p := m.Packages[dir]
		found = append(found, p.checkManners()...)
		found = append(found, p.checkLeaks()...)
		found = append(found, law.checkLayers(m, p)...)
		found = append(found, law.checkBans(m, p)...)
		found = append(found, law.checkEdges(m, p)...)
		found = append(found, law.checkNames(p)...)
	}
	return found
}

func (p *Package) checkManners() (found []string) {
	if p.Name != "" && !p.Documented {
		found = append(found, fmt.Sprintf("%s: package %s has no doc comment", p.Dir, p.Name))
	}
	for _, name := range append([]string{path.Base(p.Dir)}, p.Files...) {
		switch word, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_"); word {
		case "util", "utils", "common", "misc":
			found = append(found, fmt.Sprintf("%s: %s: name it after what it is about", p.Dir, name))
		}
	}
	return found
}

// CheckLeaks lists the packages whose tests would not see a goroutine that
// nobody waits for; it is all that Check asks of a nested module, whose imports
// are its own affair.
func CheckLeaks(m *Module) (found []string) {
	for _, dir := range m.dirs() {
		found = append(found, m.Packages[dir].checkLeaks()...)
	}
	return found
}

func (p *Package) checkLeaks() (found []string) {
	_, watched := p.TestUses["go.uber.org/goleak.VerifyTestMain"]
	if slices.ContainsFunc(p.Files, isTest) && !watched {
		found = append(found, fmt.Sprintf("%s: its tests do not see goroutines that are left behind: give them a TestMain with goleak.VerifyTestMain", p.Dir))
	}
	return found
}

func (law Law) checkLayers(m *Module, p *Package) (found []string) {
	for _, layer := range law.Layers {
		if !matches(layer.In, p.Dir) {
			continue
		}
		for _, imported := range sorted(p.Imports) {
			if dir, ok := m.own(imported); ok && !matches(layer.May, dir) {
				found = append(found, fmt.Sprintf("%s: %s imports %s: %s", p.Imports[imported], p.Dir, dir, layer.Why))
			}
		}
	}
	return found
}

func (law Law) checkBans(m *Module, p *Package) (found []string) {
	for _, ban := range law.Bans {
		if !matches(ban.In, p.Dir) {
			continue
		}
		m.reach(p, func(way []string, imported string, at token.Position) {
			if matches(ban.Not, imported) {
				found = append(found, fmt.Sprintf("%s: %s imports %s: %s", at, strings.Join(way, " -> "), imported, ban.Why))
			}
		})
	}
	return found
}

// reach visits every import of a package and of the module's packages that it
// leads to, each package once, with the shortest way there.
func (m *Module) reach(from *Package, visit func(way []string, imported string, at token.Position)) {
	type step struct {
		p   *Package
		way []string
	}
	seen := map[string]bool{from.Dir: true}
	for queue := []step{{from, []string{from.Dir}}}; len(queue) > 0; queue = queue[1:] {
		now := queue[0]
		for _, imported := range sorted(now.p.Imports) {
			visit(now.way, imported, now.p.Imports[imported])
			dir, ok := m.own(imported)
			if next := m.Packages[dir]; ok && next != nil && !seen[dir] {
				seen[dir] = true
				queue = append(queue, step{next, append(slices.Clone(now.way), dir)})
			}
		}
	}
}

func (law Law) checkEdges(m *Module, p *Package) (found []string) {
	for _, imported := range sorted(p.Imports) {
		if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
			continue // the standard library
		}
		if _, ok := m.own(imported); ok {
			continue
		}
		at := p.Imports[imported]
		i := slices.IndexFunc(law.Edges, func(e Edge) bool { return matches([]string{e.Library + "/..."}, imported) })
		switch {
		case i < 0:
			found = append(found, fmt.Sprintf("%s: %s imports %s, of which the law does not say which package it is for", at, p.Dir, imported))
		case !matches(law.Edges[i].At, p.Dir):
			found = append(found, fmt.Sprintf("%s: %s imports %s: %s", at, p.Dir, imported, law.Edges[i].Why))
		}
	}
	return found
}

func (law Law) checkNames(p *Package) (found []string) {
	for _, names := range law.Names {
		if p.Name == "main" || !matches(names.In, p.Dir) {
			continue
		}
		for _, name := range names.Not {
			if at, ok := p.Uses[name]; ok {
				found = append(found, fmt.Sprintf("%s: %s uses %s: %s", at, p.Dir, name, names.Why))
			}
		}
	}
	return found
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, all := strings.CutSuffix(pattern, "...")
		if !all {
			return name == pattern
		}
		return strings.HasPrefix(name+"/", prefix)
	})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

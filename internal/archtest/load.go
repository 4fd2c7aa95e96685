// Package archtest reads a module's import graph and checks it against rules:
// which package may import what, with the reason for each ban. The module's own
// rules are in law_test.go.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the source of one Go module, of every platform and build tag, with
// the packages of testdata left out, and of nested modules but those asked for.
type Module struct {
	Path     string
	Packages map[string]*Package // by directory, slash-separated; "." is the root
}

// Package is one directory of Go files.
type Package struct {
	Dir        string
	Name       string
	Documented bool
	Files      []string // base names, tests included
	// Imports and Uses tell, of the files that are not tests, where a package is
	// first imported, and where a name of a package of the standard library
	// ("time.Now") is first used.
	Imports map[string]token.Position
	Uses    map[string]token.Position
	// TestUses are, of the files that are tests, the names of any other package.
	TestUses map[string]token.Position
}

// Load reads the module whose go.mod is in root, and the nested modules in the
// directories given, whose packages count as the module's own.
func Load(root string, nested ...string) (*Module, error) {
	name, err := modulePath(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := &Module{Path: name, Packages: map[string]*Package{}}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if d.IsDir() && rel != "." && skipped(file) && !slices.Contains(nested, filepath.ToSlash(rel)) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(file) != ".go" {
			return nil
		}
		return m.add(root, filepath.ToSlash(rel))
	})
	return m, err
}

func skipped(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func (m *Module) add(root, file string) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(file)
	p := m.Packages[dir]
	if p == nil {
		p = &Package{Dir: dir, Imports: map[string]token.Position{}, Uses: map[string]token.Position{}, TestUses: map[string]token.Position{}}
		m.Packages[dir] = p
	}
	p.Files = append(p.Files, path.Base(file))
	position := func(at token.Pos) token.Position {
		return token.Position{Filename: file, Line: fset.Position(at).Line}
	}
	if isTest(file) {
		read(f, map[string]token.Position{}, p.TestUses, position)
		return nil
	}
	p.Name = f.Name.Name
	p.Documented = p.Documented || f.Doc != nil
	read(f, p.Imports, p.Uses, position)
	return nil
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// read notes what a file imports, and which of its imports' names it uses.
func read(f *ast.File, imports, uses map[string]token.Position, position func(token.Pos) token.Position) {
	imported := map[string]string{} // by the name in the file
	for _, spec := range f.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser accepts no such file
		}
		note(imports, target, position(spec.Pos()))
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = target
	}
	ast.Inspect(f, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && imported[x.Name] != "" {
			note(uses, imported[x.Name]+"."+selector.Sel.Name, position(selector.Pos()))
		}
		return true
	})
}

func note(seen map[string]token.Position, what string, at token.Position) {
	if _, ok := seen[what]; !ok {
		seen[what] = at
	}
}

// dirs lists the packages in order.
func (m *Module) dirs() []string {
	var dirs []string
	for dir := range m.Packages {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

// own is the directory of an import of the module itself.
func (m *Module) own(imported string) (dir string, ok bool) {
	if imported == m.Path {
		return ".", true
	}
	return strings.CutPrefix(imported, m.Path+"/")
}

func modulePath(gomod string) (string, error) {
	b, err := os.ReadFile(gomod)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s names no module", gomod)
}

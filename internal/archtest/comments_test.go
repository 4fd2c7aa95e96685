package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// camelCase is a word that can only be a name of the code.
var camelCase = regexp.MustCompile(`^[A-Za-z]+[a-z][A-Z][A-Za-z0-9]*$`)

// A comment that begins with another name than its declaration's was left behind by a rename.
func TestCommentsBeginWithTheNameOfTheirDeclaration(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"): // a test's comment says the rule
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			name, doc := declared(decl)
			word, _, _ := strings.Cut(doc.Text(), " ")
			if word = strings.TrimRight(word, ".,:;\n"); name != "" && camelCase.MatchString(word) && word != name {
				t.Errorf("%s: the comment of %s begins with %s", fset.Position(decl.Pos()), name, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// declared returns the name and the comment of a function, or of a type that is declared alone.
func declared(d ast.Decl) (name string, doc *ast.CommentGroup) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name, d.Doc
	case *ast.GenDecl:
		if d.Lparen.IsValid() {
			return "", nil
		}
		if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
			return spec.Name.Name, d.Doc
		}
	}
	return "", nil
}

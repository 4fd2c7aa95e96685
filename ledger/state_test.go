package ledger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/cronce/cronce/ledger"
)

// Reasons and States list every constant: what is not listed cannot be asked
// for by name.
func TestEveryReasonAndStateIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "state.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		name, typed := spec.Type.(*ast.Ident)
		for _, v := range spec.Values {
			if literal, ok := v.(*ast.BasicLit); ok && typed {
				text, _ := strconv.Unquote(literal.Value)
				declared[name.Name] = append(declared[name.Name], text)
			}
		}
		return true
	})
	if got := listed(ledger.Reasons); !slices.Equal(got, declared["Reason"]) {
		t.Errorf("Reasons lists %s, declared are %s", got, declared["Reason"])
	}
	if got := listed(ledger.States); !slices.Equal(got, declared["State"]) {
		t.Errorf("States lists %s, declared are %s", got, declared["State"])
	}
}

func listed[T ~string](values []T) (texts []string) {
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}

package ledger_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

// ofStates matches SQL that decides by a state. Which state means what is decided in this
// package; a statement takes states as parameters.
var ofStates = regexp.MustCompile(`(?i)(CASE(\s+WHEN)?|iif\()\s+(\w+\.)?state\b`)

// An engine that names a state, a reason, a trigger or a wait code in its SQL has a rule of
// its own. Conditions of partial indexes are made from the constants of this package.
func TestNoStatementOfAnEngineNamesAState(t *testing.T) {
	names := []string{string(ledger.WaitNotSent), string(ledger.BySchedule), string(ledger.ByCatchUp), string(ledger.EventRevisionBegun)}
	for _, s := range ledger.States {
		names = append(names, string(s))
	}
	for _, r := range ledger.Reasons {
		names = append(names, string(r))
	}
	quoted := regexp.MustCompile(`'(` + strings.Join(names, "|") + `)'`)
	literals := 0
	for _, pattern := range []string{"postgres/*.go", "sqlite/*.go", "memory/*.go", "internal/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			places := token.NewFileSet()
			parsed, err := parser.ParseFile(places, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					literals++
					for _, found := range []string{quoted.FindString(text.Value), ofStates.FindString(text.Value)} {
						if found != "" {
							t.Errorf("%s: %s: pass it as a parameter, or make the condition of an index from the constant", places.Position(text.Pos()), found)
						}
					}
				}
				return true
			})
		}
	}
	if literals < 500 {
		t.Errorf("found only %d literals", literals)
	}
}

// A partial index that has other states than the rules know is not used, or misses rows.
func TestPartialIndexesHaveTheStatesOfTheRules(t *testing.T) {
	exceptional := sqlfilter.StateIn(ledger.Exceptional)
	dead := sqlfilter.StateIn([]ledger.State{ledger.Dead})
	held := fmt.Sprintf("substr(waits_for, 1, %d) <> '%s'", len(ledger.WaitNotSent), ledger.WaitNotSent)
	for engine, want := range map[string]map[string]int{
		"postgres": {
			"WHERE " + exceptional: 3, "WHERE " + dead + " AND acked_at IS NULL": 2, held: 1, sqlfilter.StateIn(ledger.Unfinished): 1, sqlfilter.MembersLeft: 1,
		},
		"sqlite": {"WHERE due_at IS NULL AND state <> '" + string(ledger.Succeeded) + "'": 3, "WHERE " + dead + " AND acked_at IS NULL": 2, held: 1, sqlfilter.MembersLeft: 1},
	} {
		var steps string
		for _, step := range []string{"00001_ledger", "00011_members"} {
			text, err := os.ReadFile("../migrations/" + engine + "/ledger/" + step + ".sql")
			if err != nil {
				t.Fatal(err)
			}
			up, _, _ := strings.Cut(string(text), "-- +goose Down")
			steps += up
		}
		for condition, n := range want {
			if found := strings.Count(steps, condition); found != n {
				t.Errorf("%s: %d indexes or checks with %s, want %d", engine, found, condition, n)
			}
		}
	}
}

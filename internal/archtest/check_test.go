package archtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/archtest"
)

var exampleLaw = archtest.Law{
	Layers: []archtest.Layer{{In: []string{"nouns"}, Why: "a leaf"}},
	Bans:   []archtest.Ban{{In: []string{"nouns"}, Not: []string{"os", "os/..."}, Why: "no files"}},
	Edges:  []archtest.Edge{{Library: "example.com/driver", At: []string{"engine"}, Why: "the engine's"}},
	Names: []archtest.Names{
		{In: []string{"nouns"}, Not: []string{"time.Now"}, Why: "no clock"},
		{In: []string{"..."}, Not: []string{"os.Exit"}, Why: "main's"},
	},
}

// Each package of testdata/broken breaks one or two articles; its commands and
// its nested module break none.
func TestEachViolationIsFoundWhereItIs(t *testing.T) {
	module, err := archtest.Load("testdata/broken")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`edge/edge.go:5: edge imports example.com/driver: the engine's`,
		`edge/edge.go:6: edge imports example.com/driverless, of which the law does not say which package it is for`,
		`nouns: its tests do not see goroutines that are left behind: give them a TestMain with goleak.VerifyTestMain`,
		`nouns/nouns.go:7: nouns imports engine: a leaf`,
		`engine/engine.go:5: nouns -> engine imports os: no files`,
		`nouns/nouns.go:10: nouns uses time.Now: no clock`,
		`other/other.go:8: other uses os.Exit: main's`,
		`util: package util has no doc comment`,
		`util: util: name it after what it is about`,
		`util: common_windows.go: name it after what it is about`,
	}
	if got := archtest.Check(module, exampleLaw); !slices.Equal(got, want) {
		t.Errorf("found\n%s\n\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAModuleWithoutGoModIsRefused(t *testing.T) {
	if _, err := archtest.Load("testdata"); err == nil {
		t.Error("loaded a module from a directory without go.mod")
	}
}

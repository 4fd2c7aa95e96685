package main

import (
	"testing"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

func TestOnlyADifferenceBeyondNoiseIsWorse(t *testing.T) {
	steady := rig.Spread{Median: 1, Least: 0.9, Most: 1.1}
	for _, c := range []struct {
		rule  string
		now   ratios
		worse bool
	}{
		{"the same is not worse", ratios{steady, steady}, false},
		{"within the tolerance is not worse", ratios{rig.Spread{Median: 0.85, Least: 0.8, Most: 0.88}, steady}, false},
		{"ranges that overlap are noise", ratios{rig.Spread{Median: 0.7, Least: 0.5, Most: 0.95}, steady}, false},
		{"fewer runs are worse", ratios{rig.Spread{Median: 0.7, Least: 0.6, Most: 0.8}, steady}, true},
		{"more CPU is worse", ratios{steady, rig.Spread{Median: 1.3, Least: 1.2, Most: 1.4}}, true},
		{"better is not worse", ratios{rig.Spread{Median: 2, Least: 2, Most: 2}, rig.Spread{Median: 0.5, Least: 0.5, Most: 0.5}}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			name := contenders.CroncePostgres.Name
			report, worse, err := compare(map[string]ratios{name: {steady, steady}}, map[string]ratios{name: c.now})
			if err != nil {
				t.Error(err)
			}
			if worse != c.worse {
				t.Errorf("worse: %v, want %v\n%s", worse, c.worse, report)
			}
		})
	}
}

func TestABaselineThatSaysNothingIsRefused(t *testing.T) {
	steady := rig.Spread{Median: 1, Least: 0.9, Most: 1.1}
	name := contenders.CronceSQLite.Name
	now := map[string]ratios{name: {steady, steady}}
	for rule, before := range map[string]map[string]ratios{
		"nothing in it":       {},
		"another contender's": {"cronce": {steady, steady}},
		"a figure is missing": {name: {RunsPerSecond: steady}},
		"out of order":        {name: {steady, rig.Spread{Median: 3, Least: 0.9, Most: 1.1}}},
	} {
		t.Run(rule, func(t *testing.T) {
			if report, _, err := compare(before, now); err == nil {
				t.Errorf("it passes:\n%s", report)
			}
		})
	}
}

func TestWhatWasNotMeasuredIsNotWorse(t *testing.T) {
	steady := rig.Spread{Median: 1, Least: 0.9, Most: 1.1}
	before := map[string]ratios{
		contenders.CroncePostgres.Name: {steady, steady},
		contenders.CronceSQLite.Name:   {steady, steady},
	}
	results := map[string][]rig.Result{}
	if report, worse, err := compare(before, ratiosOf(results)); worse || err != nil {
		t.Errorf("worse: %v, %v\n%s", worse, err, report)
	}
}

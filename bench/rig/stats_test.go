package rig_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/bench/rig"
)

func TestLatenessIsOfTheSortedValues(t *testing.T) {
	var d []time.Duration
	for i := 100; i >= 0; i-- {
		d = append(d, time.Duration(i)*time.Millisecond)
	}
	want := rig.Late{P50: 50 * time.Millisecond, P99: 99 * time.Millisecond, Max: 100 * time.Millisecond}
	if got := rig.Lateness(d); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := rig.Lateness(nil); got != (rig.Late{}) {
		t.Errorf("of nothing: %v", got)
	}
}

func TestSpreadIsMedianLeastAndMost(t *testing.T) {
	for _, c := range []struct {
		seconds []int
		want    rig.Spread // of 10 runs a second, and so on
	}{
		{[]int{1}, rig.Spread{Median: 100, Least: 100, Most: 100}},
		{[]int{10, 1, 2}, rig.Spread{Median: 50, Least: 10, Most: 100}},
		{[]int{1, 2}, rig.Spread{Median: 75, Least: 50, Most: 100}},
	} {
		if got := rig.Spreads(rounds(c.seconds...), rig.Result.RunsPerSecond); got != c.want {
			t.Errorf("%v: got %v, want %v", c.seconds, got, c.want)
		}
	}
}

// The machine became twice as slow after the first round; the ratio did not
// change.
func TestRatiosAreTakenRoundByRound(t *testing.T) {
	slow, fast := rounds(2, 4, 4), rounds(1, 2, 2)
	want := rig.Spread{Median: 0.5, Least: 0.5, Most: 0.5}
	if got := rig.Ratios(slow, fast, rig.Result.RunsPerSecond); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func rounds(seconds ...int) (r []rig.Result) {
	for _, s := range seconds {
		r = append(r, rig.Result{Runs: 100, Wall: time.Duration(s) * time.Second})
	}
	return r
}

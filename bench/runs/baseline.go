package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

// tolerance is how much worse a ratio's median may be than the baseline's.
// Absolute figures are never compared: they are the machine's.
const tolerance = 0.2

// ratios are a contender's figures divided by the reference loop's, each round
// by its own.
type ratios struct {
	RunsPerSecond rig.Spread `json:"runsPerSecond"` // more is better
	CPU           rig.Spread `json:"cpu"`           // less is better
}

func ratiosOf(results map[string][]rig.Result) map[string]ratios {
	of := map[string]ratios{}
	base := results[contenders.Reference.Name]
	for _, c := range []rig.Contender{contenders.CroncePostgres, contenders.CronceSQLite} {
		r := results[c.Name]
		if len(r) == 0 {
			continue // -only left it out
		}
		of[c.Name] = ratios{rig.Ratios(r, base, rig.Result.RunsPerSecond), rig.Ratios(r, base, rig.Result.TotalCPU)}
	}
	return of
}

// baseline saves the ratios, or compares them with saved ones.
func baseline(results map[string][]rig.Result, save, against string) error {
	now := ratiosOf(results)
	if against != "" {
		b, err := os.ReadFile(against)
		if err != nil {
			return err
		}
		var before map[string]ratios
		if err := json.Unmarshal(b, &before); err != nil {
			return fmt.Errorf("%s: %w", against, err)
		}
		report, worse, err := compare(before, now)
		fmt.Print(report)
		if err != nil {
			return fmt.Errorf("%s: %w", against, err)
		}
		if worse {
			return fmt.Errorf("worse than %s: profile it, or save a new baseline and say why", against)
		}
	}
	if save == "" {
		return nil
	}
	b, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(save, append(b, '\n'), 0o644)
}

// usable reports whether something can be compared with the ratios: a figure
// that is missing from the file is zero, and nothing is worse than zero.
func (r ratios) usable() bool {
	for _, s := range []rig.Spread{r.RunsPerSecond, r.CPU} {
		if s.Least <= 0 || s.Median < s.Least || s.Most < s.Median {
			return false
		}
	}
	return true
}

// compare sets the ratios beside a baseline's. A difference counts when it is
// beyond the tolerance and the ranges of the rounds do not overlap. What was
// measured and has no baseline is an error, not a pass.
func compare(before, now map[string]ratios) (report string, worse bool, err error) {
	var rows [][]string
	row := func(name, figure string, was, is rig.Spread, bad bool) {
		verdict := "~"
		if bad {
			verdict, worse = "worse", true
		}
		rows = append(rows, []string{name, figure, show(was), show(is), verdict})
	}
	for _, c := range []rig.Contender{contenders.CroncePostgres, contenders.CronceSQLite} {
		is, measured := now[c.Name]
		if !measured {
			continue
		}
		was := before[c.Name]
		if !was.usable() {
			err = errors.Join(err, fmt.Errorf("no usable ratios of %q: save a new baseline with -save", c.Name))
			continue
		}
		row(c.Name, "runs/s", was.RunsPerSecond, is.RunsPerSecond,
			is.RunsPerSecond.Median < was.RunsPerSecond.Median*(1-tolerance) && is.RunsPerSecond.Most < was.RunsPerSecond.Least)
		row(c.Name, "CPU", was.CPU, is.CPU,
			is.CPU.Median > was.CPU.Median*(1+tolerance) && is.CPU.Least > was.CPU.Most)
	}
	return rig.Table([]string{"", "to the reference loop", "baseline", "now", ""}, rows), worse, err
}

func show(s rig.Spread) string { return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Least, s.Most) }

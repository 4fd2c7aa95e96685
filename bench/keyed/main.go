// Command keyed measures schedules that are made at run time: how fast they are made, how
// late the runs of many that are due at once are planned, how soon an edit acts, and what a
// process costs while very many wait.
//
//	make bench-peers PEERS=keyed
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/bench/rig"
)

// part is one thing that is measured.
type part struct {
	name, title string
	measure     func(*measure, context.Context) (string, error)
}

// parts are measured in this order, with the schedules that wait.
var parts = []part{
	{"single", "made one by one by 8 callers, and changed", (*measure).single},
	{"beside", "the same beside 1,000 runs/s, and these planned after", (*measure).besideRuns},
	{"due", "10,000 due in one second, planned after", (*measure).dueAtOnce},
	{"jobs", "10,000 jobs of a registry due in one second, planned after", (*measure).registryJobs},
	{"minute", "100,000 due within a minute, planned after", (*measure).dueInAMinute},
	{"edit", "edited shortly before beside 1,000 runs/s, planned after", (*measure).edits},
	{"serve", "RSS of serve beside an empty ledger, CPU while idle, time until ready", (*measure).serve},
	{"catchup", "all due in the last hour: planned and called, RSS at the peak, lateness of a job of the registry", (*measure).catchUp},
}

func main() {
	rig.Child()
	n := flag.Int("schedules", 100_000, "how many schedules wait")
	engine := flag.String("engine", "both", "sqlite, postgres or both")
	only := flag.String("only", "", "a list of parts: single, beside, due, jobs, minute, edit, serve, catchup; empty: all")
	flag.Parse()
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n%d schedules wait; planned after: p50 / p99 / max in ms from due to committed\n\n", about, *n)
		for _, store := range []rig.Store{rig.PostgreSQL, rig.SQLite} {
			if *engine != "both" && *engine != string(store) {
				continue
			}
			rows, err := measureAll(ctx, b, store, *n, *only)
			fmt.Println(rig.Table([]string{string(store), ""}, rows))
			if err != nil {
				return fmt.Errorf("%s: %w", store, err)
			}
		}
		return nil
	})
}

func measureAll(ctx context.Context, b *rig.Bench, store rig.Store, n int, only string) (rows [][]string, err error) {
	m, err := openMeasure(ctx, b, store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	made, err := m.fill(ctx, n)
	rows = append(rows, []string{"put, 1,000 at once", made})
	for _, p := range parts {
		if err != nil {
			return rows, err
		}
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		var figure string
		figure, err = p.measure(m, ctx)
		fmt.Fprintf(os.Stderr, "%s %s, %s: %s\n", time.Now().Format(time.TimeOnly), store, p.title, figure)
		rows = append(rows, []string{p.title, figure})
	}
	return rows, err
}

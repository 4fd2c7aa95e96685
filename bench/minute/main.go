// Command minute measures the top of the minute: many jobs that are all due in
// one second. How late is each planned (or its function called), how late does
// its request arrive at the target, and what memory does it take?
//
//	make bench-peers PEERS=minute
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

var all = []rig.Contender{contenders.Plan, contenders.CroncePostgres, contenders.CronceSQLite, contenders.Gocron, contenders.Robfig}

func main() {
	rig.Child(all...)
	sizes := flag.String("jobs", "1000,10000,100000", "how many jobs, a list")
	rounds := flag.Int("rounds", 3, "rounds of each contender and size")
	only := flag.String("only", "", "measure only contenders whose name contains `text`")
	flag.Parse()
	all = slices.DeleteFunc(all, func(c rig.Contender) bool { return !strings.Contains(c.Name, *only) })
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n%d rounds each, in turn; medians of p50 / p99 / max in ms\n\n", about, *rounds)
		return measure(ctx, b, *sizes, *rounds)
	})
}

func measure(ctx context.Context, b *rig.Bench, list string, rounds int) error {
	sizes, err := rig.Numbers(list)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, n := range sizes {
		results, err := b.Rounds(ctx, all, rounds, n, func(s string) { fmt.Fprintln(os.Stderr, s) })
		if err != nil {
			return err
		}
		for _, c := range all {
			rows = append(rows, row(n, c, results[c.Name]))
		}
	}
	fmt.Println(rig.Table([]string{"jobs", "", "planned", "arrived", "RSS registered, MB", "RSS peak, MB"}, rows))
	return nil
}

func row(jobs int, c rig.Contender, rounds []rig.Result) []string {
	planned, arrived := make([]rig.Late, len(rounds)), make([]rig.Late, len(rounds))
	for i, r := range rounds {
		arrived[i] = r.Late
		if err := json.Unmarshal(r.Report, &planned[i]); err != nil {
			log.Print(err) // a contender that does not report stands as zero
		}
	}
	registered := rig.Spreads(rounds, func(r rig.Result) float64 { return float64(r.Registered) / (1 << 20) })
	peak := rig.Spreads(rounds, rig.Result.PeakMB)
	arrival := "-"
	if !c.Silent {
		arrival = middle(arrived).String()
	}
	return []string{strconv.Itoa(jobs), c.Name, middle(planned).String(), arrival, fmt.Sprintf("%.0f", registered.Median),
		fmt.Sprintf("%.0f", peak.Median)}
}

// middle takes the median of each figure.
func middle(rounds []rig.Late) rig.Late {
	of := func(figure func(rig.Late) time.Duration) time.Duration {
		values := make([]time.Duration, len(rounds))
		for i, r := range rounds {
			values[i] = figure(r)
		}
		return rig.Median(values, func(a, b time.Duration) time.Duration { return (a + b) / 2 })
	}
	return rig.Late{
		P50: of(func(l rig.Late) time.Duration { return l.P50 }),
		P99: of(func(l rig.Late) time.Duration { return l.P99 }),
		Max: of(func(l rig.Late) time.Duration { return l.Max }),
	}
}

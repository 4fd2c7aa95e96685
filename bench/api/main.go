// Command api measures what the API costs runs: runs a second with the API idle
// beside the same without one, with 500 requests a second of eight identities, and
// how many runs start late beside those requests.
//
//	make bench-peers PEERS=api
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

var loads = []contenders.Load{
	{Name: "no API"},
	{Name: "API idle", Serves: true},
	{Name: "API asked", Serves: true, Asked: true},
	{Name: "spread, no API", Spread: true},
	{Name: "spread, API asked", Serves: true, Asked: true, Spread: true},
}

func main() {
	contenders.Asker()
	var all []rig.Contender
	for _, engine := range []rig.Contender{contenders.CroncePostgres, contenders.CronceSQLite} {
		for _, l := range loads {
			all = append(all, contenders.API(engine, l))
		}
	}
	rig.Child(all...)
	runs := flag.Int("runs", 20_000, "runs a round")
	rounds := flag.Int("rounds", 5, "rounds of each contender")
	only := flag.String("only", "", "measure only contenders whose name contains `text`")
	flag.Parse()
	measured := slices.DeleteFunc(slices.Clone(all), func(c rig.Contender) bool { return !strings.Contains(c.Name, *only) })
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n%d rounds of %d runs each, in turn: all due at once, or spread over %v; median (least to most)\nasked: %d requests a second, from when the jobs are declared to the last outcome\n\n",
			about, *rounds, *runs, contenders.SpreadOver, contenders.AskedPerSecond)
		results, err := b.Rounds(ctx, measured, *rounds, *runs, func(s string) { fmt.Fprintln(os.Stderr, s) })
		if err != nil {
			return err
		}
		return table(all, results)
	})
}

func table(all []rig.Contender, results map[string][]rig.Result) error {
	var rows [][]string
	var base []rig.Result
	for i, c := range all {
		r := results[c.Name]
		if i%len(loads) == 0 {
			base = r
		}
		if len(r) == 0 {
			continue
		}
		var total contenders.Served
		for j := range r {
			var s contenders.Served
			if err := json.Unmarshal(r[j].Report, &s); err != nil {
				return err
			}
			if total.Asked.Failed += s.Asked.Failed; s.Asked.Failed > 0 {
				fmt.Fprintf(os.Stderr, "%s: %d requests failed, such as %s\n", c.Name, s.Asked.Failed, s.Asked.Example)
			}
			r[j].Wall = s.Took
			total.Late += s.Late
			total.Start.Max = max(total.Start.Max, s.Start.Max)
			total.Asked.PerSecond += s.Asked.PerSecond / float64(len(r))
			total.Asked.Late.P50 = max(total.Asked.Late.P50, s.Asked.Late.P50)
			total.Asked.Late.P99 = max(total.Asked.Late.P99, s.Asked.Late.P99)
			total.Asked.Late.Max = max(total.Asked.Late.Max, s.Asked.Late.Max)
		}
		rows = append(rows, row(c, loads[i%len(loads)], r, base, total))
	}
	fmt.Println(rig.Table([]string{
		"", "runs/s", "ratio", "CPU of the process, µs a run", "runs late by over 1 s", "latest, ms",
		"requests/s", "failed", "answered after, p50 / p99 / max, ms",
	}, rows))
	return nil
}

func row(c rig.Contender, l contenders.Load, r, base []rig.Result, total contenders.Served) []string {
	perSecond, ratio, late, latest := rig.Spreads(r, rig.Result.RunsPerSecond).String(), "-", "-", "-"
	if l.Spread {
		late, latest = fmt.Sprint(total.Late), fmt.Sprint(int64(total.Start.Max/time.Millisecond))
	} else if len(base) == len(r) {
		ratio = fmt.Sprintf("%.2f", rig.Ratios(r, base, rig.Result.RunsPerSecond).Median)
	}
	requests, failed, answered := "-", "-", "-"
	if l.Asked {
		requests, failed, answered = fmt.Sprintf("%.0f", total.Asked.PerSecond), fmt.Sprint(total.Asked.Failed), total.Asked.Late.String()
	}
	return []string{c.Name, perSecond, ratio, rig.Spreads(r, rig.Result.WorkerCPU).String(), late, latest, requests, failed, answered}
}

// Command runs measures durable runs side by side: a scheduled time or job stored,
// one POST to a loopback target, its outcome stored.
//
//	make bench-peers
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

var all = []rig.Contender{contenders.Reference, contenders.CroncePostgres, contenders.River, contenders.CronceSQLite}

func main() {
	rig.Child(all...)
	runs := flag.Int("runs", 20_000, "runs a round")
	rounds := flag.Int("rounds", 5, "rounds of each contender")
	save := flag.String("save", "", "write the ratios to `file`, as a baseline")
	against := flag.String("against", "", "compare the ratios with those of `file`, and fail when one is worse by more than a fifth")
	only := flag.String("only", "", "measure only the reference loop and contenders whose name contains `text`")
	flag.Parse()
	log.SetFlags(0)
	peers, why := contenders.Node()
	if why != "" {
		log.Print(why)
	}
	all = slices.Insert(all, len(all)-1, peers...)
	all = slices.DeleteFunc(all, func(c rig.Contender) bool {
		return c.Name != contenders.Reference.Name && !strings.Contains(c.Name, *only)
	})
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n%d rounds of %d runs each, in turn; median (least to most)\n\n", about, *rounds, *runs)
		return measure(ctx, b, *runs, *rounds, *save, *against)
	})
}

func measure(ctx context.Context, b *rig.Bench, runs, rounds int, save, against string) error {
	results, err := b.Rounds(ctx, all, rounds, runs, func(s string) { fmt.Fprintln(os.Stderr, s) })
	if err != nil {
		return err
	}
	fmt.Println(table(results))
	return baseline(results, save, against)
}

func table(results map[string][]rig.Result) string {
	var rows [][]string
	base := results[contenders.Reference.Name]
	for _, c := range all {
		r := results[c.Name]
		server := "-"
		if c.Store == rig.PostgreSQL {
			server = rig.Spreads(r, rig.Result.ServerCPU).String()
		}
		rows = append(rows, []string{
			c.Name,
			rig.Spreads(r, rig.Result.RunsPerSecond).String(),
			fmt.Sprintf("%.2f", rig.Ratios(r, base, rig.Result.RunsPerSecond).Median),
			rig.Spreads(r, rig.Result.WorkerCPU).String(),
			server,
			fmt.Sprintf("%.2f", rig.Ratios(r, base, rig.Result.TotalCPU).Median),
			rig.Spreads(r, rig.Result.PeakMB).String(),
		})
	}
	return rig.Table([]string{"", "runs/s", "ratio", "CPU of the process, µs a run", "CPU of PostgreSQL, µs a run", "ratio of both",
		"peak RSS, MB"}, rows)
}

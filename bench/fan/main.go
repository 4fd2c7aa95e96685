// Command fan measures the members of one list beside as many jobs with a run each: the
// list fetched and frozen, one POST for each member, its outcome stored.
//
//	make bench-peers PEERS=fan
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

// all has each store's jobs before its members.
var all = []rig.Contender{contenders.CroncePostgres, contenders.FanPostgres, contenders.CronceSQLite, contenders.FanSQLite}

func main() {
	rig.Child(all...)
	runs := flag.Int("runs", 20_000, "members of the list, and jobs")
	rounds := flag.Int("rounds", 3, "rounds of each")
	flag.Parse()
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n%d rounds of %d runs each, in turn; median (least to most)\n\n", about, *rounds, *runs)
		results, err := b.Rounds(ctx, all, *rounds, *runs, func(s string) { fmt.Fprintln(os.Stderr, s) })
		if err != nil {
			return err
		}
		var rows [][]string
		for i, c := range all {
			r, base := results[c.Name], results[all[i-i%2].Name] // the jobs on the same store
			rows = append(rows, []string{
				c.Name, rig.Spreads(r, rig.Result.RunsPerSecond).String(), fmt.Sprintf("%.2f", rig.Ratios(r, base, rig.Result.RunsPerSecond).Median),
				rig.Spreads(r, rig.Result.WorkerCPU).String(), rig.Spreads(r, rig.Result.ServerCPU).String(), rig.Spreads(r, rig.Result.PeakMB).String(),
			})
		}
		fmt.Println(rig.Table([]string{"", "runs/s", "ratio", "CPU of the process, µs a run", "CPU of PostgreSQL, µs a run", "peak RSS, MB"}, rows))
		return nil
	})
}

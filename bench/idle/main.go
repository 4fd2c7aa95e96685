// Command idle measures what cronce costs while nothing is due: the processor
// time of its process and of PostgreSQL, and its memory.
//
//	make bench-peers PEERS=idle
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

func main() {
	rig.Child(contenders.Idle...)
	sizes := flag.String("jobs", "1000,100000", "how many jobs, a list")
	flag.Parse()
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n%v in which no job is due\n\n", about, contenders.IdleFor)
		return measure(ctx, b, *sizes)
	})
}

func measure(ctx context.Context, b *rig.Bench, list string) error {
	sizes, err := rig.Numbers(list)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, n := range sizes {
		results, err := b.Rounds(ctx, contenders.Idle, 1, n, func(s string) { fmt.Fprintln(os.Stderr, s) })
		if err != nil {
			return err
		}
		for _, c := range contenders.Idle {
			rows = append(rows, row(n, c, results[c.Name][0]))
		}
	}
	fmt.Println(rig.Table([]string{"jobs", "", "CPU of the process, ms a second", "CPU of PostgreSQL, ms a second", "RSS, MB"}, rows))
	return nil
}

func row(jobs int, c rig.Contender, r rig.Result) []string {
	server := "-"
	if c.Store == rig.PostgreSQL {
		server = fmt.Sprintf("%.1f", 1000*r.Server.Seconds()/r.Wall.Seconds())
	}
	return []string{
		strconv.Itoa(jobs), c.Name, fmt.Sprintf("%.1f", 1000*r.Worker.Seconds()/r.Wall.Seconds()), server,
		fmt.Sprintf("%.0f", float64(r.Registered)/(1<<20)),
	}
}

// Command idle measures what cronce costs while nothing is due: the processor
// time of its process and of PostgreSQL, and its memory.
//
//	make bench-peers PEERS=idle
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
)

func main() {
	rig.Child(contenders.Idle...)
	sizes := flag.String("jobs", "1000,100000", "how many jobs, a list")
	flag.Parse()
	log.SetFlags(0)
	if err := measure(context.Background(), strings.Split(*sizes, ",")); err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, sizes []string) error {
	b, err := rig.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close(ctx) }()
	version, err := b.Databases.Version(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s\n%v in which no job is due\n\n", rig.Machine(), version, contenders.IdleFor)
	var rows [][]string
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil {
			return err
		}
		results, err := b.Rounds(ctx, contenders.Idle, 1, n, func(s string) { fmt.Fprintln(os.Stderr, s) })
		if err != nil {
			return err
		}
		for _, c := range contenders.Idle {
			rows = append(rows, row(size, c, results[c.Name][0]))
		}
	}
	fmt.Println(rig.Table([]string{"jobs", "", "CPU of the process, ms a second", "CPU of PostgreSQL, ms a second", "RSS, MB"}, rows))
	return nil
}

func row(size string, c rig.Contender, r rig.Result) []string {
	server := "-"
	if c.Store == rig.PostgreSQL {
		server = fmt.Sprintf("%.1f", 1000*r.Server.Seconds()/r.Wall.Seconds())
	}
	return []string{
		size, c.Name, fmt.Sprintf("%.1f", 1000*r.Worker.Seconds()/r.Wall.Seconds()), server,
		fmt.Sprintf("%.0f", float64(r.Registered)/(1<<20)),
	}
}

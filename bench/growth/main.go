// Command growth measures how the cost of the ledger's statements grows with 10,000,
// 100,000 and a million finished runs, how many rows they read, and how several
// replicas on one PostgreSQL share the work.
//
//	make bench-peers PEERS=growth
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
	rig.Child(contenders.CroncePostgres)
	engine := flag.String("engine", "postgres", "the engine of the ledgers: postgres or sqlite")
	sizes := flag.String("ledger", "10000,100000,1000000", "how many finished runs, a list (ten million take minutes to write)")
	replicas := flag.String("replicas", "1,2,4", "how many replicas, a list")
	runs := flag.Int("runs", 20_000, "runs that the replicas share")
	rounds := flag.Int("rounds", 3, "rounds of each number of replicas; fifty times as many of the statements")
	flag.Parse()
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n\n", about)
		return measure(ctx, b, rig.Store(*engine), *sizes, *replicas, *runs, *rounds)
	})
}

func measure(ctx context.Context, b *rig.Bench, engine rig.Store, sizes, replicas string, runs, rounds int) error {
	counts, err := rig.Numbers(replicas)
	if err != nil {
		return err
	}
	// The replicas first: a million rows keep the server's own housekeeping
	// busy for a while.
	if engine == rig.PostgreSQL {
		if err := measureReplicas(ctx, b, counts, runs, rounds); err != nil {
			return err
		}
	}
	if counts, err = rig.Numbers(sizes); err != nil {
		return err
	}
	return measureLedgers(ctx, b.Databases, engine, counts, 50*rounds)
}

// measureLedgers works on all ledgers in turn and prints the medians.
func measureLedgers(ctx context.Context, d *rig.Databases, engine rig.Store, sizes []int, rounds int) error {
	books := make([]*book, len(sizes))
	for i, n := range sizes {
		fmt.Fprintf(os.Stderr, "writing %d finished runs\n", n)
		b, err := openBook(ctx, d, engine, n)
		if err != nil {
			return err
		}
		defer b.Close()
		books[i] = b
	}
	for range rounds {
		for _, b := range books {
			if err := b.round(ctx); err != nil {
				return err
			}
		}
	}
	head := []string{"ms, median (p99)"}
	for _, n := range sizes {
		head = append(head, fmt.Sprintf("%d runs", n))
	}
	var rows [][]string
	for _, name := range operations {
		row := []string{name}
		for _, b := range books {
			l := rig.Lateness(b.took[name])
			row = append(row, fmt.Sprintf("%.2f (%.2f)", l.P50.Seconds()*1000, l.P99.Seconds()*1000))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.2f", growth(books, name))))
	}
	fmt.Printf("%d runs each, %d rounds over all ledgers in turn\n\n%s\n", batch, rounds,
		rig.Table(append(head, "last : first"), rows))
	if engine == rig.SQLite {
		return nil
	}
	return printReads(ctx, books, rounds)
}

func growth(books []*book, name string) float64 {
	first, last := rig.Lateness(books[0].took[name]), rig.Lateness(books[len(books)-1].took[name])
	return last.P50.Seconds() / first.P50.Seconds()
}

func measureReplicas(ctx context.Context, b *rig.Bench, copies []int, runs, rounds int) error {
	results, extra := map[int][]rig.Result{}, map[int]int{}
	for range rounds {
		for _, n := range copies {
			r, more, err := b.Together(ctx, contenders.CroncePostgres, n, runs, contenders.DueTime)
			if err != nil {
				return err
			}
			results[n] = append(results[n], r)
			extra[n] += more
			fmt.Fprintf(os.Stderr, "%d replicas: %.0f runs/s\n", n, r.RunsPerSecond())
		}
	}
	var rows [][]string
	for _, n := range copies {
		rows = append(rows, []string{
			strconv.Itoa(n), rig.Spreads(results[n], rig.Result.RunsPerSecond).String(),
			rig.Spreads(results[n], rig.Result.WorkerCPU).String(), rig.Spreads(results[n], rig.Result.ServerCPU).String(),
			strconv.Itoa(extra[n]),
		})
	}
	fmt.Printf("%d rounds of %d runs, shared by the replicas\n\n%s\n", rounds, runs, rig.Table(
		[]string{"replicas", "runs/s", "CPU of all, µs a run", "CPU of PostgreSQL, µs a run", "repeated calls (more than one per run)"}, rows))
	return nil
}

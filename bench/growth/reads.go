package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/bench/rig"
)

// reads are the server's own counts for the tables that grow with the runs:
// each way of reading one, how often it was used and how much was read so.
const reads = `
	SELECT relname || ', whole table' AS way, seq_scan AS scans, seq_tup_read AS read
	FROM pg_stat_user_tables WHERE relname IN ('runs', 'attempts')
	UNION ALL
	SELECT indexrelname, idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE relname IN ('runs', 'attempts')
	ORDER BY way`

// resetReads forgets how the ledger was filled. The session that filled it must
// have ended, or its counts come later.
func resetReads(ctx context.Context, database string) error {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, `SELECT pg_stat_reset()`)
	return err
}

// way is one of them.
type way struct {
	Way   string
	Scans int64
	Read  int64
}

// printReads says how the rounds read each ledger. It closes them: a session
// hands its counts in when it ends.
func printReads(ctx context.Context, books []*book, rounds int) error {
	head := []string{"rows or entries read a round (scans)"}
	cells := map[string][]string{}
	for _, b := range books {
		ways, err := b.reads(ctx)
		if err != nil {
			return err
		}
		head = append(head, fmt.Sprintf("%d runs", b.runs))
		for _, w := range ways {
			cells[w.Way] = append(cells[w.Way], fmt.Sprintf("%.1f (%.1f)", each(w.Read, rounds), each(w.Scans, rounds)))
		}
	}
	var rows [][]string
	for name, cell := range cells {
		rows = append(rows, append([]string{name}, cell...))
	}
	slices.SortFunc(rows, slices.Compare)
	fmt.Printf("How the ledgers were read\n\n%s\n", rig.Table(head, rows))
	return nil
}

func (b *book) reads(ctx context.Context) ([]way, error) {
	b.Close()
	c, err := pgx.Connect(ctx, b.database)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, reads)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[way])
}

func each(n int64, rounds int) float64 { return float64(n) / float64(rounds) }

package postgres

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// A position is a snapshot: the transactions that had ended when it was taken.
// What changed after it was changed by another transaction. The order in which
// transactions begin, or take a number of a sequence, is not that in which they
// commit, so that no single number is a position.
//
// changesSQL returns the rows that are not visible in a snapshot: those of the
// transactions from its end ($1) on, and of those that were running ($2).
const changesSQL = `
	SELECT pg_current_snapshot()::text, ` + listColumns + ` FROM (
		(SELECT * FROM runs WHERE changed >= $1::text::xid8 ORDER BY changed LIMIT $3)
		UNION ALL
		(SELECT * FROM runs WHERE changed = ANY ($2::text[]::xid8[]) ORDER BY changed LIMIT $3)
	) r`

// Changes returns what changed after a position.
func (l *Ledger) Changes(ctx context.Context, after string) (ledger.Changes, error) {
	var now string
	if err := l.pool.QueryRow(ctx, `SELECT pg_current_snapshot()::text`).Scan(&now); err != nil {
		return ledger.Changes{}, translate("list changes", err)
	}
	got := ledger.Changes{Position: now}
	if after == "" {
		return got, nil
	}
	from, known := parseSnapshot(after)
	if last, _ := parseSnapshot(now); !known || from.end > last.end {
		got.Lost = true
		return got, nil
	}
	rows, err := l.pool.Query(ctx, changesSQL, strconv.FormatUint(from.end, 10), from.running, ledger.MaxChanges+1)
	if err != nil {
		return ledger.Changes{}, translate("list changes", err)
	}
	got.Position = after // where nothing changed, it is still good
	got.Runs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Run, error) {
		return scanRun(prefixed{row, []any{&got.Position}})
	})
	if len(got.Runs) > ledger.MaxChanges {
		got.Runs, got.Lost = nil, true
	}
	return got, translate("list changes", err)
}

// snapshot is a pg_snapshot: 20:30:21,25 is taken when 30 was the next
// transaction and 21 and 25 were running.
type snapshot struct {
	end     uint64
	running []string
}

// maxSnapshot bounds the text of a snapshot: it has a number for each session
// that was writing.
const maxSnapshot = 8 << 10

func parseSnapshot(text string) (s snapshot, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || len(text) > maxSnapshot {
		return s, false
	}
	if parts[2] != "" {
		s.running = strings.Split(parts[2], ",")
	}
	var err error
	for _, number := range append(s.running, parts[0], parts[1]) {
		if s.end, err = strconv.ParseUint(number, 10, 64); err != nil {
			return s, false
		}
	}
	return s, true
}

package postgres

import (
	"strconv"
	"strings"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// ChangedAfter returns up to limit of the rows that changed after a position.
//
// A position is a snapshot: it says which transactions had ended when it was taken. A row changed
// after it if its transaction was running then, or began later. Transactions do not commit in the
// order in which they begin, or take a number of a sequence, so that no single number is a position.
func (t *tx) ChangedAfter(after string, limit int) ledger.Future[ledger.ChangedRows] {
	from, known := parseSnapshot(after)
	position := sqltx.One(t.Tx, sqltx.Text, `SELECT pg_current_snapshot()::text`)
	var rows ledger.Future[[]ledger.Row]
	if known {
		rows = t.Rows(`SELECT`+sqltx.Columns(&dialect, false)+`FROM (
				(SELECT * FROM runs WHERE changed >= $1::text::xid8 ORDER BY changed LIMIT $3)
				UNION ALL
				(SELECT * FROM runs WHERE changed = ANY ($2::text[]::xid8[]) ORDER BY changed LIMIT $3)
			) r WHERE parent IS NULL`, strconv.FormatUint(from.end, 10), from.running, limit)
	}
	return ledger.LazyFuture(func() (c ledger.ChangedRows, err error) {
		if c.Position, err = position.Get(); err != nil {
			return c, err
		}
		last, _ := parseSnapshot(c.Position)
		c.Lost = after != "" && (!known || from.end > last.end)
		c.Rows, err = rows.Get()
		return c, err
	})
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

// parseSnapshot reads the text of a snapshot, or reports that it is none: a position may come from
// outside.
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

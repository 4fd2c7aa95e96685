package postgres

import (
	"strconv"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// Changed returns up to limit of the rows that changed after a position.
//
// A position is a snapshot: the transactions that had ended when it was taken. What changed
// after it was changed by another transaction: by one from its end on, or one of those that
// were running. The order in which transactions begin, or take a number of a sequence, is
// not that in which they commit, so that no single number is a position.
func (t *tx) Changed(after string, limit int) ledger.Later[ledger.ChangedRows] {
	var c ledger.ChangedRows
	from, known := parseSnapshot(after)
	t.p.add(query{sql: `SELECT pg_current_snapshot()::text`, row: func(v *values) error {
		c.Position = v.text()
		last, _ := parseSnapshot(c.Position)
		c.Lost = after != "" && (!known || from.end > last.end)
		return nil
	}})
	if known {
		r := new(rowReader)
		q := query{sql: `
			SELECT` + rowColumnsNil + `FROM (
				(SELECT * FROM runs WHERE changed >= $1::text::xid8 ORDER BY changed LIMIT $3)
				UNION ALL
				(SELECT * FROM runs WHERE changed = ANY ($2::text[]::xid8[]) ORDER BY changed LIMIT $3)
			) r WHERE r.parent IS NULL`, row: func(v *values) error {
			row, err := r.row(v)
			c.Rows = append(c.Rows, row)
			return err
		}}
		q.args.text(strconv.FormatUint(from.end, 10))
		q.args.texts(from.running)
		q.args.int8(int64(limit))
		t.p.add(q)
	}
	return later(t, func() ledger.ChangedRows { return c })
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

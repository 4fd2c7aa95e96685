package sqlite

import (
	"strconv"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// All rows that a transaction changes have its position, after all that was changed
// before. Only one transaction writes at a time, so that positions are committed in
// their order.
var (
	getPosition  = `SELECT max(position, coalesce((SELECT max(changed) FROM runs), 0)) FROM purged_changes`
	keepPosition = `UPDATE purged_changes SET position = ?`
	getChanges   = `SELECT` + sqltx.Columns(&dialect, false) + `FROM runs WHERE changed > ? AND parent IS NULL ORDER BY changed LIMIT 0 + ?`
)

func (t *tx) ChangedAfter(after string, limit int) ledger.Future[ledger.ChangedRows] {
	last, err := sqltx.One(t.Tx, sqltx.Number, getPosition).Get()
	if err != nil {
		return ledger.ResolvedFuture(ledger.ChangedRows{}, err)
	}
	c := ledger.ChangedRows{Position: strconv.FormatInt(last, 10)}
	if after == "" {
		return ledger.ResolvedFuture(c, nil)
	}
	from, err := strconv.ParseInt(after, 10, 64)
	if c.Lost = err != nil || from < 0 || from > last; c.Lost || from == last {
		return ledger.ResolvedFuture(c, nil)
	}
	c.Rows, err = t.Rows(getChanges, from, limit).Get()
	return ledger.ResolvedFuture(c, err)
}

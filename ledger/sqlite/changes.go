package sqlite

import (
	"strconv"

	"github.com/cronce/cronce/ledger"
)

// All rows that a transaction changes have its position, after all that was changed
// before. Only one transaction writes at a time, so that positions are committed in
// their order.
const (
	getPosition  = `SELECT max(position, coalesce((SELECT max(changed) FROM runs), 0)) FROM purged_changes`
	keepPosition = `UPDATE purged_changes SET position = ?`
	getChanges   = `SELECT ` + listColumns + ` FROM runs WHERE changed > ? AND parent IS NULL ORDER BY changed LIMIT 0 + ?`
)

func (t *tx) Changed(after string, limit int) ledger.Later[ledger.ChangedRows] {
	var last int64
	if _, err := t.one(getPosition, nil, &last); err != nil {
		return ledger.Known(ledger.ChangedRows{}, err)
	}
	c := ledger.ChangedRows{Position: strconv.FormatInt(last, 10)}
	if after == "" {
		return ledger.Known(c, nil)
	}
	from, err := strconv.ParseInt(after, 10, 64)
	if c.Lost = err != nil || from < 0 || from > last; c.Lost || from == last {
		return ledger.Known(c, nil)
	}
	c.Rows, err = t.rows(getChanges, from, limit)
	return ledger.Known(c, err)
}

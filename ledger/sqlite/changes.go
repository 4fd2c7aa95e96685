package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/cronce/cronce/ledger"
)

// All rows that a transaction changes have its position, after all that was changed
// before. Only one transaction writes at a time, so that positions are committed in
// their order.
const (
	getPosition  = `SELECT max(position, coalesce((SELECT max(changed) FROM runs), 0)) FROM purged_changes`
	keepPosition = `UPDATE purged_changes SET position = ?`
	getChanges   = `SELECT ` + listColumns + ` FROM runs WHERE changed > ? ORDER BY changed LIMIT ?`
)

// Changes returns what changed after a position.
func (l *Ledger) Changes(ctx context.Context, after string) (got ledger.Changes, err error) {
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		var last int64
		if err := r.QueryRowContext(ctx, getPosition).Scan(&last); err != nil {
			return err
		}
		got.Position = strconv.FormatInt(last, 10)
		if after == "" {
			return nil
		}
		from, bad := strconv.ParseInt(after, 10, 64)
		if got.Lost = bad != nil || from < 0 || from > last; got.Lost || from == last {
			return nil
		}
		rows, err := queryTx(ctx, r, scanRun, getChanges, from, ledger.MaxChanges+1)
		if got.Lost = len(rows) > ledger.MaxChanges; !got.Lost {
			got.Runs = runsOf(rows)
		}
		return err
	})
	if err != nil {
		return ledger.Changes{}, fmt.Errorf("list changes: %w", err)
	}
	return got, nil
}

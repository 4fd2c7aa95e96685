package sqlite

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

const deleteOldMembers = `
	DELETE FROM members WHERE (parent, run_id) IN (
		SELECT m.parent, m.run_id FROM members m
		WHERE m.parent IN (SELECT run_id FROM runs WHERE run_id IN (SELECT value FROM json_each($5)) AND ` + sqltx.OldRun + `) LIMIT 0 + $6)
	RETURNING run_id`

// PutMembers adds members to a list.
func (t *tx) PutMembers(parent string, list []ledger.Member) error {
	for _, m := range list {
		if err := t.Exec(`INSERT INTO members (parent, run_id, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, parent, m.RunID,
			m.Key); err != nil {
			return err
		}
	}
	return nil
}

// DeleteOldMembers deletes members of old parents, with their runs.
func (t *tx) DeleteOldMembers(parents []string, q ledger.OldRuns, limit int) ledger.Future[[]string] {
	gone, err := sqltx.List(t.Tx, sqltx.Text, deleteOldMembers, sqltx.OldRunArgs(q, parents, limit)...).Get()
	if err != nil || len(gone) == 0 {
		return ledger.ResolvedFuture(gone, err)
	}
	if err = t.Exec(keepPosition, t.change); err == nil {
		err = t.Delete(gone)
	}
	return ledger.ResolvedFuture(gone, err)
}

package postgres

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// PutMembers adds members to a list.
func (t *tx) PutMembers(parent string, list []ledger.Member) error {
	if len(list) == 0 {
		return nil
	}
	return t.Exec(`
		INSERT INTO members (parent, run_id, key) SELECT $1, u.* FROM unnest($2::text[], $3::text[]) AS u
		ON CONFLICT (parent, run_id) DO NOTHING`,
		parent, mapN(len(list), func(i int) string { return list[i].RunID }), mapN(len(list), func(i int) string { return list[i].Key }))
}

// DeleteOldMembers deletes members of old parents, with their runs. An action on a member locks
// its parent first, and so does this.
func (t *tx) DeleteOldMembers(parents []string, old ledger.OldRuns, limit int) ledger.Future[[]string] {
	return sqltx.List(t.Tx, sqltx.Text, `
		WITH old AS MATERIALIZED (
				SELECT m.parent, m.run_id FROM members m JOIN runs r ON r.run_id = m.parent
				WHERE m.parent = ANY ($5) AND `+sqltx.OldRun+` ORDER BY m.parent, m.run_id LIMIT $6 FOR UPDATE OF r),
			gone AS (DELETE FROM members WHERE (parent, run_id) IN (SELECT parent, run_id FROM old) RETURNING run_id),
			runs_gone AS (DELETE FROM runs WHERE run_id = ANY (ARRAY(SELECT run_id FROM gone))),
			attempts_gone AS (DELETE FROM attempts WHERE run_id = ANY (ARRAY(SELECT run_id FROM gone)))
		SELECT run_id FROM gone`, sqltx.OldRunArgs(old, parents, limit)...)
}

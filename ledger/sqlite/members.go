package sqlite

import (
	"cmp"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

const (
	selectMembers = `
		SELECT m.run_id, m.key, coalesce(r.state, '') FROM members m LEFT JOIN runs r ON r.run_id = m.run_id
		WHERE m.parent = ?1 AND m.run_id > ?2 AND m.run_id < ?6 AND substr(m.key, 1, length(?7)) = ?7 AND (?4 OR r.run_id IS NULL OR r.state IN (SELECT value FROM json_each(?5)))
		ORDER BY m.run_id LIMIT 0 + ?3`
	countMembers = `
		SELECT parent, state, count(*) FROM runs
		WHERE parent IN (SELECT value FROM json_each(?)) AND ` + sqlfilter.MembersLeft + ` AND state IN (SELECT value FROM json_each(?))
		GROUP BY parent, state`
	deleteOldMembers = `
		DELETE FROM members WHERE (parent, run_id) IN (
			SELECT m.parent, m.run_id FROM members m
			WHERE m.parent IN (SELECT run_id FROM runs WHERE run_id IN (SELECT value FROM json_each(?5)) AND ` + oldRun + `) LIMIT 0 + ?6)
		RETURNING run_id`
)

// PutMembers adds members to a list.
func (t *tx) PutMembers(parent string, list []ledger.Member) error {
	for _, m := range list {
		if _, err := t.exec(`INSERT INTO members (parent, run_id, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, parent, m.RunID,
			m.Key); err != nil {
			return err
		}
	}
	return nil
}

// DropMembers deletes a list.
func (t *tx) DropMembers(parent string) error {
	_, err := t.exec(`DELETE FROM members WHERE parent = ?`, parent)
	return err
}

// lastRunID is after each run ID.
const lastRunID = "\x7f"

// SelectMembers returns members of a list, by run ID.
func (t *tx) SelectMembers(q ledger.MemberQuery) ledger.Later[[]ledger.MemberState] {
	return ledger.Known(all(t, func(row scanner) (s ledger.MemberState, err error) {
		err = row.Scan(&s.RunID, &s.Key, &s.State)
		return s, err
	}, selectMembers, q.Parent, q.After, q.Limit, q.All, states(q.States), cmp.Or(q.Below, lastRunID), q.Prefix))
}

// CountMembers counts members by state: index runs_members.
func (t *tx) CountMembers(parents []string, counted []ledger.State) ledger.Later[[]ledger.MemberCount] {
	return ledger.Known(all(t, func(row scanner) (c ledger.MemberCount, err error) {
		err = row.Scan(&c.Parent, &c.State, &c.Count)
		return c, err
	}, countMembers, array(parents), states(counted)))
}

// DeleteOldMembers deletes members of old parents, with their runs.
func (t *tx) DeleteOldMembers(parents []string, q ledger.OldRuns, limit int) ledger.Later[[]string] {
	gone, err := all(t, text, deleteOldMembers, oldRunArgs(q, array(parents), limit)...)
	if err != nil || len(gone) == 0 {
		return ledger.Known(gone, err)
	}
	if _, err = t.exec(keepPosition, t.change); err == nil {
		err = t.Delete(gone)
	}
	return ledger.Known(gone, err)
}

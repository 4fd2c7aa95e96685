package postgres

import (
	"cmp"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

// PutMembers adds members to a list.
func (t *tx) PutMembers(parent string, list []ledger.Member) error {
	if len(list) == 0 {
		return nil
	}
	q := query{sql: `
		INSERT INTO members (parent, run_id, key) SELECT $1, u.* FROM unnest($2::text[], $3::text[]) AS u
		ON CONFLICT (parent, run_id) DO NOTHING`}
	q.args.text(parent)
	array(&q.args, textKind, list, func(b []byte, m *ledger.Member) []byte { return appendText(b, m.RunID) })
	array(&q.args, textKind, list, func(b []byte, m *ledger.Member) []byte { return appendText(b, m.Key) })
	t.p.add(q)
	return nil
}

// DropMembers deletes a list.
func (t *tx) DropMembers(parent string) error {
	q := query{sql: `DELETE FROM members WHERE parent = $1`}
	q.args.text(parent)
	t.p.add(q)
	return nil
}

// lastRunID is after each run ID.
const lastRunID = "\x7f"

// SelectMembers returns members of a list, by run ID.
func (t *tx) SelectMembers(m ledger.MemberQuery) ledger.Later[[]ledger.MemberState] {
	q := query{sql: `
		SELECT m.run_id, m.key, coalesce(r.state, '') FROM members m LEFT JOIN runs r ON r.run_id = m.run_id
		WHERE m.parent = $1 AND m.run_id > $2 AND m.run_id < $6 AND left(m.key, length($7)) = $7 AND ($4 OR r.run_id IS NULL OR r.state = ANY ($5))
		ORDER BY m.run_id LIMIT $3`}
	q.args.text(m.Parent)
	q.args.text(m.After)
	q.args.int8(int64(m.Limit))
	q.args.bool(m.All)
	q.args.texts(texts(m.States))
	q.args.text(cmp.Or(m.Below, lastRunID))
	q.args.text(m.Prefix)
	return ask(t, q, func(v *values) (s ledger.MemberState, err error) {
		s.RunID, s.Key, s.State = v.text(), v.text(), ledger.State(v.text())
		return s, nil
	})
}

// CountMembers counts members by state: index runs_members.
func (t *tx) CountMembers(parents []string, states []ledger.State) ledger.Later[[]ledger.MemberCount] {
	q := query{sql: `SELECT parent, state, count(*) FROM runs WHERE parent = ANY ($1) AND ` + sqlfilter.MembersLeft +
		` AND ` + sqlfilter.StateIn(states) + ` GROUP BY parent, state`}
	q.args.texts(parents)
	return ask(t, q, func(v *values) (c ledger.MemberCount, err error) {
		c.Parent, c.State, c.Count = v.text(), ledger.State(v.text()), int(v.int())
		return c, nil
	})
}

// DeleteOldMembers deletes members of old parents, with their runs. An action on a member locks
// its parent first, and so does this.
func (t *tx) DeleteOldMembers(parents []string, old ledger.OldRuns, limit int) ledger.Later[[]string] {
	q := query{args: oldRunArgs(old), sql: `
		WITH old AS MATERIALIZED (
				SELECT m.parent, m.run_id FROM members m JOIN runs r ON r.run_id = m.parent
				WHERE m.parent = ANY ($5) AND ` + oldRun + ` ORDER BY m.parent, m.run_id LIMIT $6 FOR UPDATE OF r),
			gone AS (DELETE FROM members WHERE (parent, run_id) IN (SELECT parent, run_id FROM old) RETURNING run_id),
			runs_gone AS (DELETE FROM runs WHERE run_id = ANY (ARRAY(SELECT run_id FROM gone))),
			attempts_gone AS (DELETE FROM attempts WHERE run_id = ANY (ARRAY(SELECT run_id FROM gone)))
		SELECT run_id FROM gone`}
	q.args.texts(parents)
	q.args.int8(int64(limit))
	return ask(t, q, func(v *values) (string, error) { return v.text(), nil })
}

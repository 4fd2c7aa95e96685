package sqltx

import (
	"cmp"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

// DropMembers deletes a list.
func (t Tx) DropMembers(parent string) error {
	return t.Engine.Exec(`DELETE FROM members WHERE parent = $1`, parent)
}

// lastRunID is after each run ID.
const lastRunID = "\x7f"

// SelectMembers returns members of a list, by run ID.
func (t Tx) SelectMembers(m ledger.MemberQuery) ledger.Future[[]ledger.MemberState] {
	return List(t, func(v Values) (s ledger.MemberState, err error) {
		s.RunID, s.Key, s.State = v.Text(), v.Text(), ledger.State(v.Text())
		return s, nil
	}, `
		SELECT m.run_id, m.key, coalesce(r.state, '') FROM members m LEFT JOIN runs r ON r.run_id = m.run_id
		WHERE m.parent = $1 AND m.run_id > $2 AND m.run_id < $6 AND substr(m.key, 1, length($7)) = $7
			AND ($4 OR r.run_id IS NULL OR r.state `+t.Dialect.In("$5")+`)
		ORDER BY m.run_id LIMIT 0 + $3`, m.Parent, m.After, m.Limit, m.All, Texts(m.States), cmp.Or(m.Below, lastRunID), m.Prefix)
}

// CountMembers counts members by state: index runs_members.
func (t Tx) CountMembers(parents []string, states []ledger.State) ledger.Future[[]ledger.MemberCount] {
	return List(t, func(v Values) (c ledger.MemberCount, err error) {
		c.Parent, c.State, c.Count = v.Text(), ledger.State(v.Text()), int(v.Int())
		return c, nil
	}, `SELECT parent, state, count(*) FROM runs WHERE parent `+t.Dialect.In("$1")+` AND `+sqlfilter.MembersLeft+
		` AND `+sqlfilter.StateIn(states)+` GROUP BY parent, state`, parents)
}

// CountFailed reads the counts that triggers keep.
func (t Tx) CountFailed(parents []string) ledger.Future[[]ledger.FailedCount] {
	return List(t, func(v Values) (c ledger.FailedCount, err error) {
		c.Parent, c.State, c.Acknowledged, c.Rerun, c.Count = v.Text(), ledger.State(v.Text()), v.Bool(), v.Bool(), int(v.Int())
		return c, nil
	}, `SELECT parent, state, acked, rerun, CAST(sum(count) AS bigint) FROM member_counts WHERE parent `+t.Dialect.In("$1")+`
		GROUP BY 1, 2, 3, 4 HAVING sum(count) <> 0`, parents)
}

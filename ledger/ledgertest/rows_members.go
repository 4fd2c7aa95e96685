package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// frozen inserts a parent with a list of a, b and c, of which runs were made in these states.
func (t *table) frozen(n int, states ...ledger.State) (parent ledger.Row, list []ledger.Member) {
	t.Helper()
	parent = in(ledger.Succeeded, minute("j", n))
	list = membersOf(parent.ID, "a", "b", "c")
	rows := []ledger.Row{parent}
	for i, s := range states {
		r := minute("j", n)
		r.ID, r.Parent = list[i].RunID, parent.ID
		rows = append(rows, in(s, r))
	}
	t.insert(rows...)
	t.write(func(tx ledger.Tx) error { return tx.PutMembers(parent.ID, list) })
	return parent, list
}

func (t *table) members(q ledger.MemberQuery) []ledger.MemberState {
	t.Helper()
	q.Limit = max(q.Limit, 1)
	return ask(t, func(tx ledger.Tx) ledger.Later[[]ledger.MemberState] { return tx.SelectMembers(q) })
}

var memberRowCases = []rowsCase{
	{"a member that is in its list stays as it is, and members of other lists are left", func(t *table) {
		parent, list := t.frozen(0)
		other, _ := t.frozen(1)
		t.write(func(tx ledger.Tx) error {
			return tx.PutMembers(parent.ID, []ledger.Member{{RunID: list[1].RunID, Key: "another key"}})
		})
		want := []ledger.MemberState{{Member: list[0]}, {Member: list[1]}, {Member: list[2]}}
		same(t, "the list", t.members(ledger.MemberQuery{Parent: parent.ID, All: true, Limit: 9}), want)
		t.write(func(tx ledger.Tx) error { return tx.DropMembers(parent.ID) })
		same(t, "a deleted list", len(t.members(ledger.MemberQuery{Parent: parent.ID, All: true, Limit: 9})), 0)
		same(t, "another list", len(t.members(ledger.MemberQuery{Parent: other.ID, All: true, Limit: 9})), 3)
	}},
	{"members are selected by run ID and state", func(t *table) {
		parent, list := t.frozen(0, ledger.Dead, ledger.Succeeded)
		a, b, c := ledger.MemberState{Member: list[0], State: ledger.Dead}, ledger.MemberState{Member: list[1], State: ledger.Succeeded},
			ledger.MemberState{Member: list[2]}
		for what, q := range map[string]struct {
			ledger.MemberQuery
			want []ledger.MemberState
		}{
			"all":             {ledger.MemberQuery{All: true, Limit: 9}, []ledger.MemberState{a, b, c}},
			"a page":          {ledger.MemberQuery{All: true, Limit: 2}, []ledger.MemberState{a, b}},
			"after":           {ledger.MemberQuery{All: true, Limit: 9, After: list[0].RunID}, []ledger.MemberState{b, c}},
			"without a run":   {ledger.MemberQuery{Limit: 9}, []ledger.MemberState{c}},
			"dead or without": {ledger.MemberQuery{Limit: 9, States: []ledger.State{ledger.Dead}}, []ledger.MemberState{a, c}},
		} {
			q.Parent = parent.ID
			same(t, what, t.members(q.MemberQuery), q.want)
		}
	}},
	{"members are counted by state, but those that succeeded", func(t *table) {
		parent, _ := t.frozen(0, ledger.Dead, ledger.Succeeded, ledger.Dead)
		t.frozen(1, ledger.Dead)
		for _, c := range []struct{ states, want []ledger.State }{
			{ledger.States, []ledger.State{ledger.Dead}}, {[]ledger.State{ledger.Dead}, []ledger.State{ledger.Dead}}, {ledger.Claimable, nil},
		} {
			got := ask(t, func(tx ledger.Tx) ledger.Later[[]ledger.MemberCount] {
				return tx.CountMembers([]string{parent.ID}, c.states)
			})
			var want []ledger.MemberCount
			for _, s := range c.want {
				want = append(want, ledger.MemberCount{Parent: parent.ID, State: s, Count: 2})
			}
			same(t, "counts", got, want)
		}
	}},
	{"members of old parents are deleted in batches, with their runs", func(t *table) {
		old, _ := t.frozen(0, ledger.Succeeded, ledger.Succeeded, ledger.Succeeded)
		young, _ := t.frozen(5, ledger.Succeeded)
		end := minute("j", 1).ScheduledAt
		q := ledger.OldRuns{Scheduled: end, Finished: end.Add(time.Hour), UnseenState: ledger.Dead, UnseenFinished: end}
		batch := func() int {
			var gone []string
			t.write(func(tx ledger.Tx) (err error) {
				gone, err = tx.DeleteOldMembers([]string{old.ID, young.ID}, q, 2).Get()
				return err
			})
			for _, id := range gone {
				same(t, "the parent of a deleted member", ledger.ParentOf(id), old.ID)
			}
			return len(gone)
		}
		left := func(parent string) int {
			return len(ask(t, func(tx ledger.Tx) ledger.Later[[]ledger.Row] { return tx.Runs(ledger.Filter{Parent: parent, Limit: 9}) }))
		}
		same(t, "the first batch", batch(), 2)
		same(t, "runs left", left(old.ID), 1)
		same(t, "the second batch", batch(), 1)
		same(t, "the third batch", batch(), 0)
		same(t, "runs of the old", left(old.ID), 0)
		same(t, "runs of the young", left(young.ID), 1)
	}},
}

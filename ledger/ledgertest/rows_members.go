package ledgertest

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// frozen inserts a parent with a list of a, b and c, of which runs were made in these states.
func (t *table) frozen(n int, states ...ledger.State) (parent ledger.Row, list []ledger.Member) {
	t.Helper()
	parent = inState(ledger.Succeeded, runAt("j", n))
	list = membersOf(parent.ID, "a", "b", "c")
	rows := []ledger.Row{parent}
	for i, s := range states {
		r := runAt("j", n)
		r.ID, r.Parent = list[i].RunID, parent.ID
		rows = append(rows, inState(s, r))
	}
	t.insert(rows...)
	t.write(func(tx ledger.Tx) error { return tx.PutMembers(parent.ID, list) })
	return parent, list
}

func (t *table) members(q ledger.MemberQuery) []ledger.MemberState {
	t.Helper()
	q.Limit = max(q.Limit, 1)
	return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.MemberState] { return tx.SelectMembers(q) })
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
			got := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.MemberCount] {
				return tx.CountMembers([]string{parent.ID}, c.states)
			})
			var want []ledger.MemberCount
			for _, s := range c.want {
				want = append(want, ledger.MemberCount{Parent: parent.ID, State: s, Count: 2})
			}
			same(t, "counts", got, want)
		}
	}},
	{"failed members are counted by state and by what settled them, whatever changes them", func(t *table) {
		parent, list := t.frozen(0, ledger.Running, ledger.Running, ledger.Running)
		change := func(i int, change func(*ledger.Row)) {
			t.Helper()
			t.write(func(tx ledger.Tx) error {
				rows, err := tx.LockRuns([]string{list[i].RunID}).Get()
				if err != nil {
					return err
				}
				was := rows[0]
				change(&rows[0])
				return tx.Update([]ledger.RowChange{ledger.DiffRows(&was, &rows[0])})
			})
		}
		counted := func(what string, want ...ledger.FailedCount) {
			t.Helper()
			got := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.FailedCount] {
				return tx.CountFailed([]string{parent.ID, "j@x"})
			})
			slices.SortFunc(got, func(a, b ledger.FailedCount) int { return strings.Compare(string(a.State), string(b.State)) })
			for i := range want {
				want[i].Parent = parent.ID
			}
			same(t, what, got, want)
		}
		of := func(s ledger.State, n int, settled ...bool) ledger.FailedCount {
			settled = append(settled, false, false)
			return ledger.FailedCount{State: s, AckedOrRerunCount: ledger.AckedOrRerunCount{Acknowledged: settled[0], Rerun: settled[1], Count: n}}
		}
		change(0, func(r *ledger.Row) { *r = inState(ledger.Dead, *r) })
		change(1, func(r *ledger.Row) { *r = inState(ledger.Canceled, *r) })
		counted("two failed", of(ledger.Canceled, 1), of(ledger.Dead, 1))
		change(2, func(r *ledger.Row) { *r = inState(ledger.Dead, *r) })
		counted("one more is dead", of(ledger.Canceled, 1), of(ledger.Dead, 2))
		change(2, func(r *ledger.Row) {
			*r = inState(ledger.Running, *r)
			r.FinishedAt = time.Time{}
			r.SetDueAt(r.ScheduledAt)
		})
		change(1, func(r *ledger.Row) { *r = inState(ledger.Succeeded, *r) })
		counted("revived", of(ledger.Dead, 1))
		change(0, func(r *ledger.Row) { r.AckedAt = pastHour })
		counted("acknowledged", of(ledger.Dead, 1, true))
		change(0, func(r *ledger.Row) { r.RerunID = "r" })
		counted("rerun", of(ledger.Dead, 1, true, true))
		t.write(func(tx ledger.Tx) error {
			if _, err := tx.LockRuns([]string{list[0].RunID}).Get(); err != nil {
				return err
			}
			return tx.Delete([]string{list[0].RunID})
		})
		counted("deleted")
	}},
	{"members of old parents are deleted in batches, with their runs", func(t *table) {
		old, _ := t.frozen(0, ledger.Succeeded, ledger.Succeeded, ledger.Succeeded)
		young, _ := t.frozen(5, ledger.Succeeded)
		end := runAt("j", 1).ScheduledAt
		q := ledger.OldRuns{Scheduled: end, Finished: end.Add(time.Hour), UnacknowledgedState: ledger.Dead, UnacknowledgedFinished: end}
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
			return len(ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] {
				return tx.Runs(ledger.Filter{Parent: parent, Limit: 9})
			}))
		}
		same(t, "the first batch", batch(), 2)
		same(t, "runs left", left(old.ID), 1)
		same(t, "the second batch", batch(), 1)
		same(t, "the third batch", batch(), 0)
		same(t, "runs of the old", left(old.ID), 0)
		same(t, "runs of the young", left(young.ID), 1)
	}},
}

package memory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

func byRunID(a, b ledger.Member) int { return cmp.Compare(a.RunID, b.RunID) }

// PutMembers adds members to a list.
func (t *tx) PutMembers(parent string, list []ledger.Member) error {
	all := slices.Concat(t.l.members[parent], list)
	slices.SortStableFunc(all, byRunID)
	putEntry(t, t.l.members, parent, slices.CompactFunc(all, func(a, b ledger.Member) bool { return a.RunID == b.RunID }))
	return nil
}

// DropMembers deletes a list.
func (t *tx) DropMembers(parent string) error {
	deleteEntry(t, t.l.members, parent)
	return nil
}

// SelectMembers returns members of a list, by run ID.
func (t *tx) SelectMembers(q ledger.MemberQuery) ledger.Future[[]ledger.MemberState] {
	var found []ledger.MemberState
	for _, m := range t.l.members[q.Parent] {
		s := ledger.MemberState{Member: m}
		r := t.l.runs[m.RunID]
		if r != nil {
			s.State = r.State
		}
		within := m.RunID > q.After && (q.Below == "" || m.RunID < q.Below) && strings.HasPrefix(m.Key, q.Prefix)
		if within && len(found) < q.Limit && (q.All || r == nil || slices.Contains(q.States, r.State)) {
			found = append(found, s)
		}
	}
	return ledger.ResolvedFuture(found, nil)
}

// CountMembers counts members by state.
func (t *tx) CountMembers(parents []string, states []ledger.State) ledger.Future[[]ledger.MemberCount] {
	var counts []ledger.MemberCount
	for _, parent := range slices.Compact(slices.Sorted(slices.Values(parents))) {
		byState := map[ledger.State]int{}
		for _, r := range t.l.runs {
			if r.Parent == parent {
				byState[r.State]++
			}
		}
		for _, s := range states {
			if n := byState[s]; n > 0 && s != ledger.Succeeded {
				counts = append(counts, ledger.MemberCount{Parent: parent, State: s, Count: n})
			}
		}
	}
	return ledger.ResolvedFuture(counts, nil)
}

// CountFailed counts failed members.
func (t *tx) CountFailed(parents []string) ledger.Future[[]ledger.FailedCount] {
	counts := map[ledger.FailedCount]int{}
	for _, r := range t.l.runs {
		if slices.Contains(parents, r.Parent) && r.State.Finished() && r.State != ledger.Succeeded {
			settled := ledger.AckedOrRerunCount{Acknowledged: !r.AckedAt.IsZero(), Rerun: r.RerunID != ""}
			counts[ledger.FailedCount{Parent: r.Parent, State: r.State, AckedOrRerunCount: settled}]++
		}
	}
	var list []ledger.FailedCount
	for c, n := range counts {
		c.Count = n
		list = append(list, c)
	}
	return ledger.ResolvedFuture(list, nil)
}

// DeleteOldMembers deletes members of old parents, with their runs.
func (t *tx) DeleteOldMembers(parents []string, q ledger.OldRuns, limit int) ledger.Future[[]string] {
	var gone []string
	for _, parent := range parents {
		r := t.l.runs[parent]
		if r == nil || !q.Has(&r.Row) {
			continue
		}
		list := t.l.members[parent]
		n := min(len(list), limit-len(gone))
		for _, m := range list[:n] {
			gone = append(gone, m.RunID)
		}
		putEntry(t, t.l.members, parent, list[n:])
	}
	return ledger.ResolvedFuture(gone, t.Delete(gone))
}

package ledger

import "context"

// MemberFilter selects a page of a parent's members, by run ID.
type MemberFilter struct {
	Parent string
	// States selects members whose run is in one of them; nil selects all members of the
	// frozen list, also those that no run was made for yet.
	States []State
	// Missing selects only members that no run was made for yet.
	Missing bool
	After   string // continues after this run ID
	Limit   int    // below 1: 100
}

// MemberPage is a page of a parent's members.
type MemberPage struct {
	Members []MemberRun
	Next    string // where to continue; "": there are no more
}

// MemberRun is a member, and its run; nil: no run was made yet.
type MemberRun struct {
	Member
	Run *Run
}

// Members lists members of a parent. See MemberFilter.
func (l *Ledger) Members(ctx context.Context, f MemberFilter) (MemberPage, error) {
	limit := pageSize(f.Limit)
	return read(ctx, l, "members of "+f.Parent, func(tx Tx) (page MemberPage, err error) {
		var list []MemberState
		var rows []Row
		if len(f.States) > 0 && !f.Missing {
			if rows, err = tx.Runs(Filter{Parent: f.Parent, States: f.States, AfterID: f.After, Limit: limit}).Get(); err != nil {
				return page, err
			}
			for i := range rows {
				list = append(list, MemberState{Member: Member{RunID: rows[i].ID, Key: rows[i].Call.Key}})
			}
		} else {
			q := MemberQuery{Parent: f.Parent, After: f.After, Limit: limit, All: !f.Missing}
			if list, err = tx.SelectMembers(q).Get(); err != nil || len(list) == 0 {
				return page, err
			}
			ids := make([]string, len(list))
			for i := range list {
				ids[i] = list[i].RunID
			}
			if rows, err = tx.Runs(Filter{IDs: ids}).Get(); err != nil {
				return page, err
			}
		}
		if len(list) == limit {
			page.Next = list[len(list)-1].RunID
		}
		page.Members = withRuns(list, rows)
		return page, nil
	})
}

func withRuns(list []MemberState, rows []Row) []MemberRun {
	byID := make(map[string]*Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	members := make([]MemberRun, len(list))
	for i, m := range list {
		members[i].Member = m.Member
		if r := byID[m.RunID]; r != nil {
			run := r.listed()
			members[i].Run = &run
		}
	}
	return members
}

// MemberCounts counts the members of parents by state; those that no run was made for yet
// have the state "".
func (l *Ledger) MemberCounts(ctx context.Context, parents []string) (map[string]map[State]int, error) {
	if len(parents) == 0 {
		return map[string]map[State]int{}, nil
	}
	return read(ctx, l, "count members", func(tx Tx) (map[string]map[State]int, error) {
		asked, counted := tx.Runs(Filter{IDs: parents}), tx.CountMembers(parents)
		rows, err := asked.Get()
		if err != nil {
			return nil, err
		}
		counts, err := counted.Get()
		byParent := map[string]map[State]int{}
		for i := range rows {
			if f := rows[i].Fan; f.Frozen() {
				byParent[rows[i].ID] = map[State]int{Succeeded: f.Released, "": f.Members - f.Released}
			}
		}
		for _, c := range counts {
			if of := byParent[c.Parent]; of != nil {
				of[c.State] += c.Count
				of[Succeeded] -= c.Count
			}
		}
		return byParent, err
	})
}

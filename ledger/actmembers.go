package ledger

import "slices"

// How actions on a parent reach its members, and those on a member its parent. A rule that
// locks both locks parents first.

// lockParents asks for the locks of the parents among rows, and of those of the members.
func (m *actionTx) lockParents(rows []Row) Later[[]Row] {
	var ids []string
	for i := range rows {
		switch r := &rows[i]; {
		case r.Parent != "":
			ids = append(ids, r.Parent)
		case r.Call.Each != nil:
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return Later[[]Row]{}
	}
	return m.tx.LockRuns(sortedSet(ids))
}

// lockOpen locks the unfinished members of parents that are canceled with them. A parent that
// was redriven has some before it fans out again.
func (m *actionTx) lockOpen(rows []Row) error {
	if m.kind != ActionCancel {
		return nil
	}
	for i := range rows {
		if !rows[i].Fan.Frozen() {
			continue
		}
		open, err := m.tx.Runs(Filter{Parent: rows[i].ID, States: Claimable}).Get()
		if err != nil {
			return err
		}
		if len(open) == 0 {
			continue
		}
		locked, err := m.tx.LockRuns(runIDs(open)).Get()
		if err != nil {
			return err
		}
		for _, r := range locked {
			if !r.State.Finished() && !slices.ContainsFunc(rows, func(o Row) bool { return o.ID == r.ID }) {
				m.members = append(m.members, r)
			}
		}
	}
	return nil
}

// changeMembers returns the changes of members that follow their parents, and of parents that
// follow their members: a dead parent works on if one of its members is redriven.
func (m *actionTx) changeMembers(rows []Row) (changes []Change) {
	follow := func(r *Row, change func(*Row)) {
		was := *r
		change(r)
		r.By, r.Why = m.By, m.Why
		c := Changed(&was, r)
		c.Attempt = was.lostAttempt(m.now)
		changes = append(changes, c)
	}
	for i := range m.members {
		follow(&m.members[i], m.cancel)
	}
	if m.kind != ActionRedrive {
		return changes
	}
	for i := range m.parents {
		p := &m.parents[i]
		own := slices.ContainsFunc(rows, func(r Row) bool { return r.ID == p.ID })
		if !own && p.State == Dead && slices.ContainsFunc(rows, func(r Row) bool { return r.Parent == p.ID }) {
			follow(p, func(r *Row) {
				r.redrive(m.now)
				m.takeSlotAgain(r)
			})
		}
	}
	return changes
}

// whyParentForbids returns why a member may not be redriven because of its parent.
func (m *actionTx) whyParentForbids(r *Row, parents map[string]*Row, busy map[string]bool) (RejectionCause, string) {
	p := parents[r.Parent]
	switch {
	case p == nil:
		return RejectedNotFound, "its parent " + r.Parent + " is not in the ledger"
	case p.State.Finished() && p.State != Dead:
		return RejectedState, "its parent " + p.ID + " is " + string(p.State) + ": backfill that run"
	case p.State == Dead && busy[r.JobID] && !m.Force:
		return RejectedUnfinished, "another run of " + r.JobID + " is unfinished: wait for it, or force"
	}
	return "", ""
}

// parentsOf returns the parents of the members among rows, by ID, as they are.
func (m *actionTx) parentsOf(rows []Row) (map[string]*Row, error) {
	var ids []string
	for i := range rows {
		if p := rows[i].Parent; p != "" {
			ids = append(ids, p)
		}
	}
	byID := map[string]*Row{}
	if len(ids) == 0 {
		return byID, nil
	}
	list, err := m.tx.Find(sortedSet(ids)).Get()
	for i := range list {
		byID[list[i].ID] = &list[i]
	}
	return byID, err
}

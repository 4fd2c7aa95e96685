package ledger

import (
	"fmt"
	"slices"
)

// How actions on a parent reach its members, and those on a member its parent. A rule that
// locks both locks parents first.

// lockParents asks for the locks of the parents among rows, and of those of the members, before any
// member is locked: a release locks in the same order.
func (m *actionTx) lockParents(rows []Row) Future[[]Row] {
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
		return Future[[]Row]{}
	}
	return m.tx.LockRuns(sortedSet(ids))
}

// limitToParent limits a redrive of members by a filter to those that their parent has room for,
// and rejects it if there is none: all of them would be due at once, before other jobs' runs.
func (m *actionTx) limitToParent() error {
	if m.kind != ActionRedrive || m.Parent == "" || len(m.IDs) > 0 {
		return nil
	}
	counts, err := countMembers(m.tx, []string{m.Parent}, Claimable)
	room := MaxOpenMembers
	for _, n := range counts[m.Parent] {
		room -= n
	}
	if m.Limit < 1 || m.Limit > room {
		m.Limit = room
	}
	if m.full = room < 1; m.full && err == nil {
		m.reject(Rejection{RunID: m.Parent, Cause: RejectedState, Why: fmt.Sprintf("%d of its members are unfinished, which is the most: "+
			"repeat this when some have finished, or redrive the run itself when it is dead, which redrives all as there is room",
			MaxOpenMembers-room)})
	}
	return err
}

// lockMembers locks and counts the members that follow their parents, or that their parents
// follow.
func (m *actionTx) lockMembers(rows []Row) error {
	switch m.kind {
	case ActionAck:
		return m.findAckedParents(rows)
	case ActionCancel:
		m.failed = map[string]map[State]int{}
		for i := range rows {
			if !rows[i].Fan.Frozen() {
				continue
			}
			if err := m.lockUnfinished(rows[i].ID, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockUnfinished locks the unfinished members of a parent that are canceled with it. A parent that
// was redriven has some before it fans out again.
func (m *actionTx) lockUnfinished(parent string, rows []Row) error {
	open, err := m.tx.Runs(Filter{Parent: parent, States: Claimable}).Get()
	if err != nil {
		return err
	}
	canceled := 0
	if len(open) > 0 {
		locked, err := m.tx.LockRuns(runIDs(open)).Get()
		if err != nil {
			return err
		}
		locked = slices.DeleteFunc(locked, func(r Row) bool { return r.State.Finished() })
		canceled = len(locked)
		for _, r := range locked {
			if !slices.ContainsFunc(rows, func(o Row) bool { return o.ID == r.ID }) {
				m.members = append(m.members, r)
			}
		}
	}
	counts, err := countMembers(m.tx, []string{parent}, failedStates)
	if err != nil {
		return err
	}
	m.failed[parent] = counts[parent]
	m.failed[parent][Canceled] += canceled
	return nil
}

// findAckedParents finds the dead parents whose failed members are all acknowledged with those that
// are acknowledged now.
func (m *actionTx) findAckedParents(rows []Row) error {
	m.ackedParents = map[string]bool{}
	for i := range m.parents {
		p := &m.parents[i]
		now, last := 0, ""
		for k := range rows {
			if rows[k].Parent == p.ID && rows[k].AckedAt.IsZero() && rows[k].RerunID == "" {
				now, last = now+1, max(last, rows[k].ID)
			}
		}
		if p.State != Dead || now == 0 {
			continue
		}
		unacked := Filter{Parent: p.ID, States: []State{Dead}, Unacknowledged: true, NotRerun: true, AfterID: last, Limit: 1}
		left, err := m.tx.Runs(unacked).Get() // usually some are, of a series: those before them are not looked at
		if err == nil && len(left) == 0 {
			unacked.AfterID, unacked.Limit = "", now+1
			left, err = m.tx.Runs(unacked).Get()
			m.ackedParents[p.ID] = len(left) <= now
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changeMembers returns the changes of members that follow their parents, and of parents that
// follow their members: a dead parent goes on if one of its members is redriven.
func (m *actionTx) changeMembers(rows []Row) (changes []RowChange) {
	follow := func(r *Row, change func(*Row)) {
		old := *r
		change(r)
		changes = append(changes, m.diff(&old, r))
	}
	for i := range m.members {
		follow(&m.members[i], m.cancel)
	}
	for i := range m.parents {
		p := &m.parents[i]
		isSelected := slices.ContainsFunc(rows, func(r Row) bool { return r.ID == p.ID })
		if isSelected || p.State != Dead || !slices.ContainsFunc(rows, func(r Row) bool { return r.Parent == p.ID }) {
			continue
		}
		switch {
		case m.kind == ActionRedrive:
			follow(p, func(r *Row) {
				r.revive(Retrying, m.now)
				m.slots.occupyOrWait(r, m.Force)
			})
		case m.kind == ActionAck && m.ackedParents[p.ID] && p.AckedAt.IsZero():
			follow(p, m.acknowledge)
		}
	}
	return changes
}

// diff returns the change of a run, whose lease it may have ended.
func (m *actionTx) diff(old, r *Row) RowChange {
	r.By, r.Why = m.By, m.Why
	c := DiffRows(old, r)
	c.Attempt = old.lostAttempt(m.now)
	return c
}

// cancel cancels a run, and counts in a parent the members that did not succeed by then.
func (m *actionTx) cancel(r *Row) {
	r.finish(Canceled, ReasonOperator, m.now)
	r.dropLease()
	if r.Fan.Frozen() {
		r.Fan.setFailed(m.failed[r.ID])
	}
}

// whyParentRefuses returns why a member may not be redriven because of its parent: it is gone, it
// has members that were purged, or it is finished and stays so; "" if it may.
func (m *actionTx) whyParentRefuses(r *Row, parents map[string]*Row, busy map[string]bool) (RejectionCause, string) {
	p := parents[r.Parent]
	switch {
	case p != nil && p.Fan.Purged:
		return RejectedNotFound, whyPurged
	case p == nil:
		return RejectedNotFound, "its parent " + r.Parent + " is not in the ledger"
	case p.State.Finished() && p.State != Dead:
		return RejectedState, "its parent " + p.ID + " is " + string(p.State) + ": backfill that run"
	case p.State == Dead && busy[r.JobID] && !m.Force:
		return RejectedUnfinished, "another run of " + r.JobID + " is unfinished: wait for it, or force"
	}
	return "", ""
}

const whyPurged = "the purge has deleted some of the members: acknowledge the others, and rerun as new work what must be done"

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

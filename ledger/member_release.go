package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// ReleaseRequest asks for members of parents that have fanned out. It checks parents that are due,
// and at those that are named, and for each of them
//
//   - makes the next members, oldest run ID first, and leases them to the caller, as far as
//     Limit, MaxOpenMembers and the parent's inFlight allow, and its target is not held;
//   - makes failed members due again after a redrive, in the same way, but leases none;
//   - ends the parent if no member is left: see Run.Fan.
//
// A member that was released and waits for a retry does not count for inFlight. So retries may
// pass it; a claim leaves them out if the process has reached it (ClaimRequest.BusyJobs).
type ReleaseRequest struct {
	Process  string
	Token    string // random, fresh for each release
	Limit    int    // maximum number of members to lease; below 1, parents are only ended
	LeaseFor time.Duration
	// Parents are checked whether or not they are due. Of BusyTargets and BusyJobs, as in
	// a ClaimRequest, no member is released.
	Parents     []string
	BusyTargets []string
	BusyJobs    []string
	// Call returns what a member sends: the parent's call with the placeholders filled.
	Call func(parent CallSpec, m Member) CallSpec
}

// Released is the result of a ReleaseRequest.
type Released struct {
	Now  time.Time // the store's clock
	Work []Work    // the members that are leased to the caller
	// Parents are those that were checked, as they are now.
	Parents []Run
	// More lists parents that have members left to release.
	More []string
}

const (
	// MaxOpenMembers is the number of members of a parent that are unfinished at a time.
	MaxOpenMembers = 1000
	// parentsAtOnce bounds the parents that one ReleaseRequest checks beside those that it names.
	parentsAtOnce = 16
	// recheckParents is the time after a check of a parent until any process checks it again.
	recheckParents = time.Second
)

// ReleaseMembers makes members of parents that have fanned out, and ends parents. See ReleaseRequest.
func (l *Ledger) ReleaseMembers(ctx context.Context, in ReleaseRequest) (Released, error) {
	return write(ctx, l, "release members", func(tx Tx) (Released, error) {
		m := releaseTx{ReleaseRequest: in, tx: tx}
		err := m.run()
		return m.got, err
	})
}

// releaseTx is a ReleaseRequest in its transaction. The locks of the parents keep other processes
// from releasing the same members. A parent that is checked is due again a second later, so that it
// goes on if this process dies.
type releaseTx struct {
	ReleaseRequest
	tx       Tx
	now      time.Time
	counts   map[string]map[State]int // of members, by parent
	inserts  []Row
	changes  []RowChange
	inserted Future[[]bool]
	ended    incidentChanges
	got      Released
}

// run checks each parent, then writes the members and the parents together.
func (m *releaseTx) run() error {
	parents, err := m.read()
	if err != nil || len(parents) == 0 {
		return err
	}
	for i := range parents {
		if err := m.advance(&parents[i]); err != nil {
			return err
		}
	}
	if len(m.inserts) > 0 {
		m.inserted = m.tx.Insert(m.inserts)
	}
	if err := update(m.tx, m.changes); err != nil {
		return err
	}
	if err := m.applyIncidents(); err != nil {
		return err
	}
	inserted, err := m.inserted.Get()
	for i, ok := range inserted {
		if ok {
			m.got.Work = append(m.got.Work, m.inserts[i].work())
		}
	}
	return err
}

// read locks the parents, and counts their members afterwards: an action on a member locks
// its parent first.
func (m *releaseTx) read() (parents []Row, err error) {
	var namedFuture Future[[]Row]
	if len(m.Parents) > 0 {
		namedFuture = m.tx.LockRuns(m.Parents)
	}
	dueFuture, pausesFuture := m.tx.LockDue(DueQuery{Limit: parentsAtOnce, States: []State{FannedOut}}), m.tx.Pauses(time.Time{})
	if m.now, err = m.tx.Now(); err != nil {
		return nil, err
	}
	m.got.Now = m.now
	if parents, err = namedFuture.Get(); err != nil {
		return nil, err
	}
	others, err := dueFuture.Get()
	if err != nil {
		return nil, err
	}
	parents = slices.DeleteFunc(parents, func(r Row) bool { return r.State != FannedOut })
	for _, r := range others {
		if !slices.Contains(m.Parents, r.ID) {
			parents = append(parents, r)
		}
	}
	if len(parents) == 0 {
		return nil, nil
	}
	list, err := pausesFuture.Get()
	if err != nil {
		return nil, err
	}
	m.BusyTargets = slices.Concat(m.BusyTargets, pauses(list).heldTargets(m.now))
	m.counts, err = countMembers(m.tx, runIDs(parents), Claimable)
	return parents, err
}

// advance releases members of a parent as far as there is room, or ends it if none is left to
// release and all are finished. It sets when the next process checks it.
func (m *releaseTx) advance(r *Row) error {
	old, counts := *r, m.counts[r.ID]
	open, active := 0, counts[Planned]+counts[Running]+counts[Accepted]
	for _, s := range Claimable {
		open += counts[s]
	}
	room := min(m.Limit-len(m.inserts), MaxOpenMembers-open)
	if each := r.Call.Each; each != nil && each.InFlight > 0 {
		room = min(room, each.InFlight-active)
	}
	if slices.Contains(m.BusyTargets, r.Call.Target) || slices.Contains(m.BusyJobs, r.ID) {
		room = 0
	}
	if r.Fan.hasMore() && room > 0 {
		released, err := m.release(r, room)
		if err != nil {
			return err
		}
		open += released
	}
	r.SetDueAt(m.now.Add(recheckParents))
	switch {
	case r.Fan.hasMore():
		m.got.More = append(m.got.More, r.ID)
		if open < MaxOpenMembers && m.Limit <= len(m.inserts) { // another process may have room
			r.SetDueAt(m.now)
		}
	case open == 0:
		if err := m.finishParent(r); err != nil {
			return err
		}
	}
	c := DiffRows(&old, r)
	c.Unlisted = r.State == old.State
	m.changes = append(m.changes, c)
	m.got.Parents = append(m.got.Parents, r.Visible())
	return nil
}

// release makes members due again whose run is in the state that the pass is for, then makes
// members that have no run, and returns how many.
func (m *releaseTx) release(r *Row, room int) (released int, err error) {
	if r.Fan.ReviveState != "" {
		released, err = m.releaseAgain(r, room)
	}
	if room -= released; err != nil || r.Fan.Done || room < 1 {
		return released, err
	}
	list, err := m.tx.SelectMembers(MemberQuery{Parent: r.ID, After: r.Fan.ReleasedThrough, Limit: room}).Get()
	for _, member := range list {
		r.Fan.ReleasedThrough = member.RunID
		row := newMember(r, member.Member, m.Call(r.Call, member.Member), m.now)
		row.lease(m.Process, m.Token, m.now, m.LeaseFor)
		m.inserts = append(m.inserts, row)
		r.Fan.Released++
		released++
	}
	r.Fan.Done = len(list) < room || r.Fan.Released >= r.Fan.Members
	return released, err
}

// releaseAgain makes the next members due again whose run is in the state that the pass is for: the
// dead ones after a redrive, the canceled ones after a backfill. It leases none; a claim does.
func (m *releaseTx) releaseAgain(r *Row, room int) (released int, err error) {
	settled := r.Fan.ReviveState == Dead
	list, err := m.tx.Runs(Filter{Parent: r.ID, States: []State{r.Fan.ReviveState}, AfterID: r.Fan.RevivedThrough, Limit: room,
		Unacknowledged: settled, NotRerun: settled}).Get()
	if err != nil {
		return 0, err
	}
	if len(list) < room {
		r.Fan.ReviveState, r.Fan.RevivedThrough = "", ""
	} else {
		r.Fan.RevivedThrough = list[len(list)-1].ID
	}
	if len(list) == 0 {
		return 0, nil
	}
	rows, err := m.tx.LockRuns(runIDs(list)).Get()
	for i := range rows {
		old := rows[i]
		if rows[i].makeDueAgain(m.now) {
			m.changes = append(m.changes, DiffRows(&old, &rows[i]))
			released++
		}
	}
	return released, err
}

// makeDueAgain makes a member due that is dead and not settled, or canceled, and reports whether it
// did. It keeps its key, which the target must still have.
func (r *Row) makeDueAgain(now time.Time) bool {
	switch {
	case r.KeyUnsafe(now):
		return false
	case r.State == Dead && r.AckedAt.IsZero() && r.RerunID == "":
		r.revive(Retrying, now)
	case r.State == Canceled:
		r.revive(Planned, now)
	default:
		return false
	}
	return true
}

// finishParent ends a parent, and keeps in its row how many of its members failed.
func (m *releaseTx) finishParent(r *Row) error {
	counts, err := countMembers(m.tx, []string{r.ID}, failedStates)
	if err != nil {
		return err
	}
	r.Fan.setFailed(counts[r.ID])
	if failed := r.Fan.Failed + r.Fan.Members - r.Fan.Released; failed == 0 {
		r.finish(Succeeded, "", m.now)
		m.ended.add(&Outcome{Lease: Lease{RunID: r.ID}, State: Succeeded, AckEarlier: r.Call.AckEarlier})
	} else {
		r.finish(Dead, ReasonMembers, m.now)
		m.ended.dead = append(m.ended.dead, problem{JobID: r.JobID, RunID: r.ID, Reason: ReasonMembers, Count: failed,
			Error: failedMembers(r.Fan)})
	}
	return nil
}

// failedMembers returns in words how many of a parent's members failed.
func failedMembers(f Fan) string {
	text := fmt.Sprintf("%d of %d members failed", f.Failed+f.Members-f.Released, f.Members)
	if f.Canceled > 0 {
		text += fmt.Sprintf(": %d dead, %d canceled", f.Failed-f.Canceled, f.Canceled)
	}
	return text
}

// applyIncidents opens and closes the incidents of the parents that ended, and acknowledges dead
// runs before them.
func (m *releaseTx) applyIncidents() error {
	if len(m.ended.dead) == 0 && len(m.ended.succeeded) == 0 {
		return nil
	}
	return m.ended.apply(m.tx, m.ended.queryOpen(m.tx), m.ended.queryEarlierDead(m.tx), m.now)
}

package ledger

import (
	"context"
	"slices"
	"time"
)

// Cancel moves unfinished runs to canceled. See Action.
func (l *Ledger) Cancel(ctx context.Context, a Action) (ActionResult, error) {
	return l.applyAction(ctx, action{Action: a, kind: ActionCancel, from: Unfinished, change: (*actionTx).cancel})
}

// Redrive makes dead runs due again, under their own keys. See Action.
func (l *Ledger) Redrive(ctx context.Context, a Action) (ActionResult, error) {
	many := len(a.IDs) == 0
	return l.applyAction(ctx, action{
		Action: a, kind: ActionRedrive, from: []State{Dead}, jobs: true, change: (*actionTx).redrive, check: (*actionTx).checkRedrive,
		excludes: exclusion{Acknowledged: many && !a.IncludeAcknowledged, Rerun: many && !a.MayDouble},
	})
}

// Ack acknowledges dead runs. See Action.
func (l *Ledger) Ack(ctx context.Context, a Action) (ActionResult, error) {
	return l.applyAction(ctx, action{
		Action: a, kind: ActionAck, from: []State{Dead}, change: (*actionTx).acknowledge,
		excludes: exclusion{Acknowledged: len(a.IDs) == 0},
	})
}

// action says how one kind of action is done: which runs it applies to, and what it changes in
// each. Cancel, Redrive and Ack each make one; the steps are those of actionTx.
type action struct {
	Action
	kind     ActionKind
	from     []State   // that the action applies to
	excludes exclusion // without IDs
	jobs     bool      // it locks the runs' jobs
	// check returns those of the runs that the action applies to, and rejects the
	// others; nil: it applies to all.
	check func(*actionTx, []Row) ([]Row, error)
	// change applies the action to a run.
	change func(*actionTx, *Row)
}

// actionTx is an action in its transaction. run selects the runs without a lock, since a filter may
// read very many rows. It then locks those that it selected, checks them again, and writes. Members
// of canceled parents, and parents of members, follow: see member_action.go.
type actionTx struct {
	action
	tx      Tx
	now     time.Time
	got     ActionResult
	slots   slots // redrive: of the runs' jobs
	full    bool  // redrive of members: their parent has no room for another one
	scanned int   // rows that the action's filter has selected
	// parents are those of the runs that are members, and members those of canceled parents.
	parents, members []Row
	failed           map[string]map[State]int // members of canceled parents, with them
	ackedParents     map[string]bool          // parents whose failed members are all acknowledged now
}

// applyAction does an action in one transaction. What it leaves out is counted in another one
// before, because that may take long and no row may be locked meanwhile.
func (l *Ledger) applyAction(ctx context.Context, a action) (ActionResult, error) {
	if err := a.Actor.Validate(); err != nil {
		return ActionResult{}, err
	}
	leftOut, err := l.prepare(ctx, &a)
	if err != nil {
		return ActionResult{}, err
	}
	return write(ctx, l, string(a.kind), func(tx Tx) (ActionResult, error) {
		m := actionTx{action: a, tx: tx, got: ActionResult{LeftOut: leftOut}}
		err := m.run()
		return m.got, err
	})
}

// run selects, locks and changes the runs. A dry run ends before it locks any.
func (m *actionTx) run() error {
	eligible, err := m.selectRuns()
	if err != nil {
		return err
	}
	// Asked before the locks, as the runs were selected: an engine sends both with one round trip,
	// and what another action changes meanwhile is counted as it was.
	remainingFuture := m.remaining(eligible)
	if m.DryRun {
		m.addChanged(eligible)
	} else if eligible, err = m.lock(eligible); err != nil {
		return err
	}
	if m.got.Remaining, err = remainingFuture.Get(); err != nil || m.DryRun {
		return err
	}
	return m.write(eligible)
}

// filter returns what selects the runs of an action without IDs.
func (m *actionTx) filter() Filter {
	f := m.Filter
	f.Unacknowledged = f.Unacknowledged || m.excludes.Acknowledged
	f.NotRerun = f.NotRerun || m.excludes.Rerun
	f.States = selectStates(m.from, f.States)
	return f
}

// rows returns rows that were asked for, and reads the clock, with one round trip.
func (m *actionTx) rows(rowsFuture Future[[]Row]) (list []Row, err error) {
	if m.now, err = m.tx.Now(); err != nil {
		return nil, err
	}
	return rowsFuture.Get()
}

// prepare lets a further request of a series go on after the runs of the ones before it.
// For the first, it counts the runs that the action leaves out. There may be very many, so
// that it counts them before it writes.
func (l *Ledger) prepare(ctx context.Context, a *action) (map[RejectionCause]int, error) {
	leftOut := map[RejectionCause]int{}
	if len(a.IDs) > 0 || a.excludes == (exclusion{}) && a.series() == "" {
		return leftOut, nil
	}
	f := a.Filter
	f.States = selectStates(a.from, f.States)
	return read(ctx, l, string(a.kind), func(tx Tx) (map[RejectionCause]int, error) {
		var endFuture Future[[]Cursor]
		if a.series() != "" {
			endFuture = tx.SeriesEnd(a.By, a.series())
		}
		last, err := endFuture.Get()
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			a.After = &last[0]
			return leftOut, nil
		}
		if a.excludes == (exclusion{}) {
			return leftOut, nil
		}
		counts, err := ackedOrRerun(tx, f)
		if err != nil {
			return nil, err
		}
		for _, c := range counts {
			if cause := a.excludes.cause(c.Acknowledged, c.Rerun); cause != "" {
				leftOut[cause] += c.Count
			}
		}
		return leftOut, nil
	})
}

// selectRuns returns the runs that the action applies to, oldest first. Those that it
// rejects leave room for others.
func (m *actionTx) selectRuns() (eligible []Row, err error) {
	if err := m.limitToParent(); err != nil || m.full {
		return nil, err
	}
	f := m.filter()
	if len(f.IDs) > 0 {
		f.States, f.Limit = m.States, 0
	}
	limit, found := f.Limit, map[string]bool{}
	for more := true; more; f.Limit = limit - len(eligible) {
		rows, err := m.rows(m.tx.Runs(f))
		if err != nil {
			return nil, err
		}
		m.scanned += len(rows)
		for _, r := range rows {
			found[r.ID] = true
		}
		page, err := m.eligibleRuns(rows)
		if err != nil {
			return nil, err
		}
		eligible = append(eligible, page...)
		if more = limit > 0 && len(rows) == f.Limit && len(eligible) < limit; more {
			last := rows[len(rows)-1]
			f.After = &Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
		}
	}
	for _, id := range m.IDs {
		if !found[id] {
			found[id] = true
			m.reject(rejectNotFound(id))
		}
	}
	return eligible, nil
}

func (m *actionTx) reject(r Rejection) { m.got.Rejected = append(m.got.Rejected, r) }

// eligibleRuns returns the runs that the action applies to, and rejects the others. It is called
// twice: for what was selected, and again for the rows once they are locked.
func (m *actionTx) eligibleRuns(rows []Row) ([]Row, error) {
	var eligible []Row
	for _, r := range rows {
		if slices.Contains(m.from, r.State) {
			eligible = append(eligible, r)
		} else {
			m.reject(rejectState(r.Visible(), m.from))
		}
	}
	if m.action.check == nil || len(eligible) == 0 {
		return eligible, nil
	}
	return m.action.check(m, eligible)
}

// lock locks the runs, and their jobs first if the action needs that. It returns those
// to which the action still applies.
func (m *actionTx) lock(rows []Row) ([]Row, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var jobsFuture Future[[]JobRow]
	var slotsFuture Future[[]Slot]
	if m.jobs {
		ids := distinctJobs(rows)
		jobsFuture, slotsFuture = m.tx.LockJobs(ids), m.tx.Slots(ids)
	}
	parentsFuture := m.lockParents(rows)
	locked, err := m.rows(m.tx.LockRuns(runIDs(rows)))
	if err != nil {
		return nil, err
	}
	m.parents, _ = take(&err, parentsFuture), take(&err, jobsFuture)
	list := take(&err, slotsFuture)
	if err != nil {
		return nil, err
	}
	m.slots = grant(m.tx, list)
	if len(m.IDs) == 0 { // what has changed since it was selected is not selected any more
		locked = slices.DeleteFunc(locked, func(r Row) bool {
			return !slices.Contains(m.from, r.State) || m.excludes.cause(!r.AckedAt.IsZero(), r.RerunID != "") != ""
		})
	}
	if locked, err = m.eligibleRuns(locked); err != nil {
		return nil, err
	}
	return locked, m.lockMembers(locked)
}

// write applies the action to runs that are locked, and writes those that it changes, what follows
// them, and the audit. A run that the action leaves as it is counts as changed for the caller, but
// gets no audit entry.
func (m *actionTx) write(rows []Row) error {
	var changes []RowChange
	var changed []Row
	for i := range rows {
		r := &rows[i]
		old := *r
		m.change(m, r)
		if DiffRows(&old, r).Set == 0 {
			continue
		}
		changes = append(changes, m.diff(&old, r))
		changed = append(changed, *r)
	}
	if err := update(m.tx, append(changes, m.changeMembers(rows)...)); err != nil {
		return err
	}
	m.addChanged(rows)
	return addAudit(m.tx, Audit{Action: m.kind, JobID: m.JobID, Actor: m.Actor}, changed, m.got)
}

// addChanged adds runs to the changed ones.
func (m *actionTx) addChanged(rows []Row) {
	for i := range rows {
		m.got.Changed = append(m.got.Changed, rows[i].listed())
	}
}

// acknowledge leaves a run that was acknowledged before as it is.
func (m *actionTx) acknowledge(r *Row) {
	if r.AckedAt.IsZero() {
		r.AckedAt = m.now
	}
}

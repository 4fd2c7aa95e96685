package sqlite

import (
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// newRun is a row that an admission, an entry or a backfill is to write.
type newRun struct {
	ledger.RunSpec
	jobID    string
	revision int64
	paused   bool
	by, why  string
	holder   holder
}

// holder names the process that gets a lease, and the lease's duration.
type holder struct {
	owner, token string
	leaseFor     time.Duration
}

// written is the result of a newRun. If the run ID had a row already, inserted is
// false and the other fields are unset.
type written struct {
	inserted bool
	state    ledger.State
	reason   ledger.Reason
	work     *ledger.Work
}

// Two constraints can refuse the row, the run ID's and the slot's.
const insertRun = `
	INSERT INTO runs (changed, run_id, job_id, scheduled_at, until, count, trigger, state, reason, revision, overlap,
		target, call, body, planned_at, finished_at, by, why,
		due_at, slot, waiting, attempt, send_before, lease_token, leased_by, leased_at, started_at, late_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT DO NOTHING`

// insert writes the row, and decides what a planned one becomes: skipped,
// waiting for the slot, leased, or claimable by anyone.
func (t *tx) insert(n newRun) (written, error) {
	beside := ledger.IsAdHoc(n.RunID)
	if n.State == ledger.Planned && n.paused && !beside {
		n.State, n.Reason = ledger.Skipped, ledger.ReasonPaused
	}
	if n.State != ledger.Planned || beside || n.Overlap == ledger.OverlapAllow {
		return t.put(n, false, false)
	}
	w, err := t.put(n, true, false)
	if w.inserted || err != nil {
		return w, err
	}
	// The slot is taken, or the run ID has a row: then this changes nothing.
	if n.Overlap == ledger.OverlapQueue {
		return t.put(n, false, true)
	}
	n.State, n.Reason = ledger.Skipped, ledger.ReasonOverlap
	return t.put(n, false, false)
}

// put writes the row as decided.
func (t *tx) put(n newRun, slot, waits bool) (written, error) {
	call, body, err := n.callColumns()
	if err != nil {
		return written{}, err
	}
	w := written{state: n.State, reason: n.Reason}
	var finished, due, token, leasedAt, sendBefore, slotOf any
	var overlap ledger.Overlap
	attempt, owner := 0, ""
	if n.State == ledger.Planned {
		due = n.due(t.now)
	} else {
		finished = t.now
	}
	if slot || waits {
		overlap = n.Overlap
	}
	if slot {
		slotOf = n.jobID
	}
	if n.State == ledger.Planned && n.Lease && !waits && n.due(t.now) <= t.now {
		w.work, w.state = t.firstLease(n), ledger.Running
		attempt, owner, token, leasedAt = 1, n.holder.owner, n.holder.token, t.now
		due, sendBefore = w.work.LeasedUntil.UnixMicro(), w.work.SendBefore.UnixMicro()
	}
	changed, err := t.exec(insertRun, t.change, n.RunID, n.jobID, n.ScheduledAt.UnixMicro(), micros(n.Until), n.Count,
		string(n.Trigger), string(w.state), string(n.Reason), n.revision, string(overlap),
		n.Call.Target, call, body, t.now, finished, n.by, n.why,
		due, slotOf, waits, attempt, sendBefore, token, owner, leasedAt, leasedAt, micros(ledgerrules.LateAt(n.RunSpec)))
	if err != nil || changed == 0 {
		return written{}, err
	}
	w.inserted = true
	return w, nil
}

// callColumns returns the call's columns; a row that is not to run has none.
func (n newRun) callColumns() (call any, body []byte, err error) {
	if n.Call.Method == "" && n.Call.Target == "" {
		return nil, nil, nil
	}
	return encodeCall(n.Call)
}

// due is when the run may be claimed: a scheduled time from its own time on, ~ work
// and a backfill at once.
func (n newRun) due(now int64) int64 {
	if ledger.IsAdHoc(n.RunID) || n.Trigger == ledger.ByBackfill {
		return now
	}
	return n.ScheduledAt.UnixMicro()
}

// firstLease is the work that the run's first holder gets.
func (t *tx) firstLease(n newRun) *ledger.Work {
	return &ledger.Work{
		RunID: n.RunID, JobID: n.jobID, ScheduledAt: at(n.ScheduledAt.UnixMicro()), Trigger: n.Trigger, Attempt: 1,
		SendBefore:  at(t.now + n.Call.Horizon.Microseconds()),
		LeasedUntil: at(t.now + n.holder.leaseFor.Microseconds()),
		Token:       n.holder.token, Call: n.Call,
	}
}

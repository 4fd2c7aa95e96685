package sqltx

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/callcodec"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

// Columns returns the columns of runs that [RowReader.Row] reads, in its order. A list leaves out the
// body that a run sends: it may be large.
func Columns(d *sqlfilter.Dialect, body bool) string {
	kept := "NULL"
	if body {
		kept = "body"
	}
	return ` run_id, job_id, parent, fan, scheduled_at, until, planned_at, revision, state, reason, call, ` + kept + `,
		trigger, ` + d.TakesSlot + `, pace, count, attempt, failures, replayed, status, due_at, waiting, slot IS NOT NULL, waits_for,
		accepted_at, progress, lease_token, leased_by, leased_at, started_at, send_before, key_safe_until, finished_at, acked_at, late_at,
		rerun_id, by, why `
}

// RowReader reads the rows of a query of Columns. It decodes the calls of many runs that
// were frozen with the same bytes once.
type RowReader struct{ calls callcodec.Decoder }

// Row reads a row.
func (s *RowReader) Row(v Values) (r ledger.Row, err error) {
	r.ID, r.JobID, r.Parent = v.Text(), v.Text(), v.Text()
	if r.Parent != "" {
		r.JobID = ledger.JobOfID(r.JobID)
	}
	if r.Fan, err = ledger.ParseFan(v.Text()); err != nil {
		return r, err
	}
	r.ScheduledAt, r.Until, r.PlannedAt = v.Time(), v.Time(), v.Time()
	r.Revision, r.State, r.Reason = v.Int(), ledger.State(v.Text()), ledger.Reason(v.Text())
	if r.Call, err = s.calls.Decode(v.Raw(), v.Bytes()); err != nil {
		return r, err
	}
	r.Trigger, r.TakesSlot, r.Pace = ledger.Trigger(v.Text()), v.Bool(), ledger.Pace(v.Int())
	r.Count, r.Run.Attempt = int(v.Int()), int(v.Int())
	r.Failures, r.Replayed, r.Status = int(v.Int()), v.Bool(), int(v.Int())
	r.SetDueAt(v.Time())
	r.Waiting, r.HasSlot = v.Bool(), v.Bool()
	if wait := v.Text(); wait != "" {
		r.WaitReason = ledger.ParseWaitReason(wait)
	}
	r.AcceptedAt, r.Progress, r.Token, r.LeasedBy, r.LeasedAt = v.Time(), v.Text(), v.Text(), v.Text(), v.Time()
	r.StartedAt, r.SendBefore, r.KeySafeUntil = v.Time(), v.Time(), v.Time()
	r.FinishedAt, r.AckedAt, r.LateAt = v.Time(), v.Time(), v.Time()
	r.RerunID, r.By, r.Why = v.Text(), v.Text(), v.Text()
	return r, nil
}

// Rows returns the result of a query of Columns.
func (t Tx) Rows(text string, args ...any) ledger.Future[[]ledger.Row] {
	return List(t, new(RowReader).Row, text, args...)
}

func (t Tx) Find(ids []string) ledger.Future[[]ledger.Row] {
	return t.Rows(`SELECT`+Columns(t.Dialect, true)+`FROM runs WHERE run_id `+t.Dialect.In("$1")+` ORDER BY scheduled_at, run_id`, ids)
}

// Leased reads the unfinished runs: an index by token would cost every run two writes.
func (t Tx) Leased(token string) ledger.Future[[]ledger.Row] {
	return t.Rows(`SELECT`+Columns(t.Dialect, true)+`FROM runs WHERE `+t.Dialect.Leasable+` AND lease_token = $1 AND state = $2
		ORDER BY scheduled_at, run_id`, token, string(ledger.Running))
}

// ReadSlot reads a job, and the ID, state and DueAt of the runs that have its slot and wait for it.
func ReadSlot(v Values) (ledger.Slot, error) {
	run := func() ledger.SlotRun {
		return ledger.SlotRun{ID: v.Text(), State: ledger.State(v.Text()), DueAt: v.Time()}
	}
	return ledger.Slot{JobID: v.Text(), Holder: run(), Waiter: run()}, nil
}

// ReadWaiting reads a job, and whether its slot and a place are free.
func ReadWaiting(v Values) (ledger.WaitingJob, error) {
	return ledger.WaitingJob{JobID: v.Text(), FreeSlot: v.Bool(), FreePlace: v.Bool()}, nil
}

// ReadPaced reads the ID, state and pace of a run, and how many places are taken.
func ReadPaced(v Values) (ledger.PacedRun, error) {
	return ledger.PacedRun{ID: v.Text(), State: ledger.State(v.Text()), Pace: ledger.Pace(v.Int()), Taken: int(v.Int())}, nil
}

// Unfinished lists the unfinished runs of jobs. It reads the unfinished runs of all jobs;
// an index by job would cost every run two writes.
func (t Tx) Unfinished(jobIDs []string) ledger.Future[map[string][]string] {
	ofJobs := ` AND parent IS NULL AND job_id ` + t.Dialect.In("$1")
	byJob := map[string][]string{}
	wait := t.Engine.Query(Query{Args: []any{jobIDs}, Text: `SELECT job_id, run_id FROM runs WHERE ` + t.Dialect.Leasable + ofJobs + `
		UNION ALL
		SELECT job_id, run_id FROM runs WHERE ` + t.Dialect.Waiting + ofJobs}, func(v Values) error {
		job := v.Text()
		byJob[job] = append(byJob[job], v.Text())
		return nil
	})
	return ledger.LazyFuture(func() (map[string][]string, error) { err := wait(); return byJob, err })
}

// LockRanges returns rows by run_id, which begins with the job and the first time.
func (t Tx) LockRanges(jobID string, first, last time.Time) ledger.Future[[]ledger.Row] {
	return t.Rows(`SELECT`+Columns(t.Dialect, true)+`FROM runs
		WHERE job_id = $1 AND until IS NOT NULL AND scheduled_at <= $3 AND until >= $2 ORDER BY run_id`+t.Lock, jobID, first, last)
}

func (t Tx) CountSingles(jobID string, first, last time.Time) ledger.Future[int] {
	from, below := ledger.RunIDRange(jobID, first, last)
	return One(t, Count, `SELECT count(*) FROM runs WHERE run_id >= $1 AND run_id < $2 AND `+t.Dialect.NoIndex+`scheduled_at BETWEEN $3 AND $4
		AND until IS NULL AND `+t.Dialect.Planned(), from, below, first, last)
}

func (t Tx) NextDue() ledger.Future[time.Time] {
	now, args := t.now("$1")
	return One(t, Moment, `SELECT min(due_at) FROM runs WHERE due_at > `+now+` AND `+t.Dialect.Leasable, args...)
}

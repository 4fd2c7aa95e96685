package sqlite

import (
	"database/sql"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/callcodec"
)

// runColumns lists the columns that a runScanner reads, in order. listColumns leaves out the
// body that the run sends: it may be large, and no list shows it.
const (
	runColumns  = runFirst + `runs.body` + runRest
	listColumns = runFirst + `NULL` + runRest

	runFirst = `runs.id, runs.run_id, runs.job_id, parent, fan, scheduled_at, until, count, trigger, state, reason,
	runs.revision, overlap, pace, call, `
	runRest = `, attempt, failures, replayed, status,
	due_at, slot, waiting, waits_for, send_before, key_safe_until, lease_token, leased_by, leased_at,
	planned_at, started_at, finished_at, acked_at, late_at, rerun_id, by, why, accepted_at, progress`
)

// stored is a row of runs with its key, by which other tables name it.
type stored struct {
	ledger.Row
	key int64
}

// takesSlot is what the column overlap has of a run that takes its job's slot.
const takesSlot = "queue"

// runScanner reads the runs of one result.
type runScanner struct{ calls callcodec.Decoder }

func (c *runScanner) scan(row scanner) (stored, error) {
	var s stored
	var call sql.RawBytes
	var body []byte
	var overlap string
	var token, waits, progress, slot, parent, fan *string
	var scheduled, planned int64
	var until, due, sendBefore, safeUntil, leased, started, finished, acked, accepted, late nullTime
	r := &s.Row
	err := row.Scan(&s.key, &r.ID, &r.JobID, &parent, &fan, &scheduled, &until, &r.Count, &r.Trigger, &r.State, &r.Reason,
		&r.Revision, &overlap, &r.Pace, &call, &body, &r.Attempt, &r.Failures, &r.Replayed, &r.Status,
		&due, &slot, &r.Waiting, &waits, &sendBefore, &safeUntil, &token, &r.LeasedBy, &leased,
		&planned, &started, &finished, &acked, &late, &r.RerunID, &r.By, &r.Why, &accepted, &progress)
	if err != nil {
		return s, err
	}
	if r.Parent = textOf(parent); r.Parent != "" {
		r.JobID = ledger.JobOfID(r.JobID)
	}
	if r.Fan, err = ledger.ParseFan(textOf(fan)); err != nil {
		return s, err
	}
	if waits != nil {
		r.WaitReason = ledger.ParseWaitReason(*waits)
	}
	r.Token, r.Progress, r.TakesSlot, r.HasSlot = textOf(token), textOf(progress), overlap != "", slot != nil
	r.ScheduledAt, r.Until, r.SendBefore, r.KeySafeUntil = at(scheduled), until.time(), sendBefore.time(), safeUntil.time()
	r.PlannedAt, r.StartedAt, r.FinishedAt, r.AckedAt = at(planned), started.time(), finished.time(), acked.time()
	r.LeasedAt, r.AcceptedAt, r.LateAt = leased.time(), accepted.time(), late.time()
	r.SetDueAt(due.time())
	r.Call, err = c.calls.Decode(call, body)
	return s, err
}

// textOf is "" for NULL, and orNull is NULL for "".
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

const cellColumns = `run_id, scheduled_at, until, count, state, reason, replayed, started_at, finished_at`

func scanCell(row scanner) (c ledger.RunSummary, err error) {
	var scheduled int64
	var until, started, finished nullTime
	err = row.Scan(&c.RunID, &scheduled, &until, &c.Count, &c.State, &c.Reason, &c.Replayed, &started, &finished)
	c.ScheduledAt, c.Until, c.StartedAt, c.FinishedAt = at(scheduled), until.time(), started.time(), finished.time()
	return c, err
}

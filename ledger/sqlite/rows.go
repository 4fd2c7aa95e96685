package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// runColumns are what scanRun reads, in its order. listColumns are the same without
// the body that the run sends: it may be large, and no list shows it.
const (
	runColumns  = runFirst + `runs.body` + runRest
	listColumns = runFirst + `NULL` + runRest

	runFirst = `runs.id, runs.run_id, runs.job_id, scheduled_at, until, count, trigger, state, reason,
	runs.revision, overlap, target, call, `
	runRest = `, attempt, failures, replayed, status,
	due_at, waiting, waits_for, send_before, lease_token, leased_by, leased_at,
	planned_at, started_at, finished_at, acked_at, rerun_id, by, why, accepted_at, progress`
)

// stored is a row of runs with its internal columns.
type stored struct {
	ledger.Run
	key      int64 // the row's own
	overlap  ledger.Overlap
	waiting  bool
	token    string
	holder   string
	leasedAt time.Time
}

func scanRun(row scanner) (stored, error) {
	var s stored
	var call, body []byte
	var token, waits, progress *string
	var scheduled, planned int64
	var until, due, sendBefore, leased, started, finished, acked, accepted nullTime
	r := &s.Run
	err := row.Scan(&s.key, &r.ID, &r.JobID, &scheduled, &until, &r.Count, &r.Trigger, &r.State, &r.Reason,
		&r.Revision, &s.overlap, &r.Call.Target, &call, &body, &r.Attempt, &r.Failures, &r.Replayed, &r.Status,
		&due, &s.waiting, &waits, &sendBefore, &token, &s.holder, &leased,
		&planned, &started, &finished, &acked, &r.RerunID, &r.By, &r.Why, &accepted, &progress)
	if err != nil {
		return s, err
	}
	if token != nil {
		s.token = *token
	}
	if waits != nil {
		r.WaitReason = ledger.ParseWaitReason(*waits)
	}
	r.ScheduledAt, r.Until, r.SendBefore = at(scheduled), until.time(), sendBefore.time()
	r.PlannedAt, r.StartedAt, r.FinishedAt, r.AckedAt = at(planned), started.time(), finished.time(), acked.time()
	s.leasedAt, r.AcceptedAt = leased.time(), accepted.time()
	if progress != nil {
		r.Progress = *progress
	}
	if r.State == ledger.Running {
		r.LeasedBy, r.LeasedUntil = s.holder, due.time()
	} else {
		r.NextAt = due.time()
	}
	return s, decodeCall(&r.Call, call, body)
}

// work is what the holder of the run's lease needs.
func (s stored) work() ledger.Work {
	return ledger.Work{
		RunID: s.ID, JobID: s.JobID, ScheduledAt: s.ScheduledAt, Trigger: s.Trigger,
		Attempt: s.Attempt, Failures: s.Failures, SendBefore: s.SendBefore,
		LeasedUntil: s.LeasedUntil, AcceptedAt: s.AcceptedAt, Token: s.token, Call: s.Call,
	}
}

// encodeCall returns a call's columns. The body has a column of its own: encoding/json
// rewrites JSON within JSON, and every attempt must send the same bytes.
func encodeCall(c ledger.Call) (call string, body []byte, err error) {
	body, c.Body = c.Body, nil
	b, err := json.Marshal(c)
	if err != nil {
		return "", nil, fmt.Errorf("freeze the call to %s: %w", c.Target, err)
	}
	return string(b), body, nil
}

func decodeCall(c *ledger.Call, call, body []byte) error {
	if call == nil {
		return nil
	}
	if err := json.Unmarshal(call, c); err != nil {
		return fmt.Errorf("a run's frozen call: %w", err)
	}
	c.Body = body
	return nil
}

// run reads the row of a run ID; found is false when there is none.
func (t *tx) run(runID string) (s stored, found bool, err error) { return t.row(getRun, runID) }

func (t *tx) row(get, runID string) (s stored, found bool, err error) {
	rows, err := all(t, scanRun, get, runID)
	if err != nil || len(rows) == 0 {
		return s, false, err
	}
	return rows[0], true, nil
}

package sqlite

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/callcodec"
)

// field is a column of runs that changes, and its value.
type field struct {
	name  string
	value func(*ledger.Row) (any, error)
}

func valueColumn(name string, value func(*ledger.Row) any) field {
	return field{name, func(r *ledger.Row) (any, error) { return value(r), nil }}
}

// takesSlot is what the column overlap has of a run that takes its job's slot.
const takesSlot = "queue"

// fields are the columns of each of ledger.Columns.
var fields = []struct {
	of      ledger.Columns
	columns []field
}{
	{ledger.ColState, []field{
		valueColumn("state", func(r *ledger.Row) any { return string(r.State) }),
		valueColumn("reason", func(r *ledger.Row) any { return string(r.Reason) }),
	}},
	{ledger.ColCall, []field{
		valueColumn("target", func(r *ledger.Row) any { return r.Call.Target }),
		{"call", func(r *ledger.Row) (any, error) {
			call, err := new(callcodec.Encoder).Encode(&r.Call)
			return orNull(call), err
		}},
		valueColumn("body", func(r *ledger.Row) any { return []byte(r.Call.Body) }),
	}},
	{ledger.ColPlan, []field{
		valueColumn("trigger", func(r *ledger.Row) any { return string(r.Trigger) }),
		valueColumn("overlap", func(r *ledger.Row) any { return overlapOf(r) }),
		valueColumn("pace", func(r *ledger.Row) any { return int(r.Pace) }),
	}},
	{ledger.ColCount, []field{valueColumn("count", func(r *ledger.Row) any { return r.Count })}},
	{ledger.ColAttempt, []field{valueColumn("attempt", func(r *ledger.Row) any { return r.Run.Attempt })}},
	{ledger.ColFailures, []field{valueColumn("failures", func(r *ledger.Row) any { return r.Failures })}},
	{ledger.ColReplayed, []field{valueColumn("replayed", func(r *ledger.Row) any { return r.Replayed })}},
	{ledger.ColStatus, []field{valueColumn("status", func(r *ledger.Row) any { return r.Status })}},
	{ledger.ColDue, []field{valueColumn("due_at", func(r *ledger.Row) any { return micros(r.DueAt()) })}},
	{ledger.ColSlot, []field{
		valueColumn("waiting", func(r *ledger.Row) any { return r.Waiting }),
		valueColumn("slot", func(r *ledger.Row) any { return slotOf(r) }),
	}},
	{ledger.ColWait, []field{valueColumn("waits_for", func(r *ledger.Row) any { return orNull(r.WaitReason.String()) })}},
	{ledger.ColAccepted, []field{valueColumn("accepted_at", func(r *ledger.Row) any { return micros(r.AcceptedAt) })}},
	{ledger.ColProgress, []field{valueColumn("progress", func(r *ledger.Row) any { return orNull(r.Progress) })}},
	{ledger.ColLease, []field{
		valueColumn("lease_token", func(r *ledger.Row) any { return orNull(r.Token) }),
		valueColumn("leased_by", func(r *ledger.Row) any { return r.LeasedBy }),
		valueColumn("leased_at", func(r *ledger.Row) any { return micros(r.LeasedAt) }),
	}},
	{ledger.ColStart, []field{
		valueColumn("started_at", func(r *ledger.Row) any { return micros(r.StartedAt) }),
		valueColumn("send_before", func(r *ledger.Row) any { return micros(r.SendBefore) }),
		valueColumn("key_safe_until", func(r *ledger.Row) any { return micros(r.KeySafeUntil) }),
	}},
	{ledger.ColFinished, []field{valueColumn("finished_at", func(r *ledger.Row) any { return micros(r.FinishedAt) })}},
	{ledger.ColAcked, []field{valueColumn("acked_at", func(r *ledger.Row) any { return micros(r.AckedAt) })}},
	{ledger.ColLate, []field{valueColumn("late_at", func(r *ledger.Row) any { return micros(r.LateAt) })}},
	{ledger.ColRerun, []field{valueColumn("rerun_id", func(r *ledger.Row) any { return r.RerunID })}},
	{ledger.ColFan, []field{valueColumn("fan", func(r *ledger.Row) any { return orNull(r.Fan.String()) })}},
	{ledger.ColActor, []field{
		valueColumn("by", func(r *ledger.Row) any { return r.By }),
		valueColumn("why", func(r *ledger.Row) any { return r.Why }),
	}},
}

func overlapOf(r *ledger.Row) string {
	if r.TakesSlot {
		return takesSlot
	}
	return ""
}

// slotOf is the job's ID in the one run that has the slot, and the run's own in one that has a
// place: those of a job are between job@ and jobA.
func slotOf(r *ledger.Row) any {
	switch {
	case !r.HasSlot:
		return nil
	case r.Pace != 0:
		return r.ID
	}
	return r.JobID
}

// Update writes the changes. The write lock protects their rows.
func (t *tx) Update(changes []ledger.RowChange) error {
	return ledger.CheckAllWritten(changes, t.UpdateFenced(changes))
}

func (t *tx) UpdateFenced(changes []ledger.RowChange) ledger.Future[[]bool] {
	updated := make([]bool, len(changes))
	for i := range changes {
		ok, err := t.update(&changes[i])
		if err != nil {
			t.failed = fmt.Errorf("run %s: %w", changes[i].Row.ID, err)
			break
		}
		updated[i] = ok
	}
	return ledger.ResolvedFuture(updated, t.failed)
}

func (t *tx) update(c *ledger.RowChange) (bool, error) {
	args := make([]any, 0, 24)
	if !c.Unlisted {
		args = append(args, t.change)
	}
	for _, f := range fields {
		if c.Set&f.of == 0 {
			continue
		}
		for _, column := range f.columns {
			v, err := column.value(c.Row)
			if err != nil {
				return false, err
			}
			args = append(args, v)
		}
	}
	shape := updateShape{c.Set, c.Unlisted, c.Attempt != nil && c.Attempt.N == 1, c.LeasedAs != ""}
	if shape.first {
		a := c.Attempt
		args = append(args, micros(a.StartedAt), micros(a.FinishedAt), string(a.Answer), a.Status, a.Code, a.Error, a.Detail, a.Process)
	}
	args = append(args, c.Row.ID, string(c.From))
	if shape.fenced {
		args = append(args, c.LeasedAs)
	}
	n, err := t.exec(t.w.updateSQL(shape), args...)
	if err != nil || n == 0 {
		return false, err
	}
	if c.Attempt != nil && !shape.first {
		err = t.attempt(c.Row.ID, c.Attempt)
	}
	return true, err
}

// updateShape is what makes two updates one statement.
type updateShape struct {
	set      ledger.Columns
	unlisted bool
	first    bool // the run's first attempt is kept in its row: few runs have another
	fenced   bool
}

// updateSQL returns the statement of a shape.
func (w *session) updateSQL(s updateShape) string {
	if text, known := w.updates[s]; known {
		return text
	}
	var set []string
	if !s.unlisted {
		set = append(set, `changed = ?`)
	}
	for _, f := range fields {
		if s.set&f.of != 0 {
			for _, column := range f.columns {
				set = append(set, column.name+` = ?`)
			}
		}
	}
	if s.first {
		set = append(set, `first_started_at = ?`, `first_finished_at = ?`, `first_answer = ?`, `first_status = ?`,
			`first_code = ?`, `first_error = ?`, `first_detail = ?`, `first_owner = ?`)
	}
	text := `UPDATE runs SET ` + strings.Join(set, `, `) + ` WHERE run_id = ? AND state = ?`
	if s.fenced {
		text += ` AND lease_token = ?`
	}
	if w.updates == nil {
		w.updates = map[updateShape]string{}
	}
	w.updates[s] = text
	return text
}

// attempt adds an attempt to the run's history.
func (t *tx) attempt(runID string, a *ledger.Attempt) error {
	return t.Exec(`
		INSERT INTO attempts (run, n, started_at, finished_at, answer, status, code, error, detail, owner)
		SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ?
		ON CONFLICT (run, n) DO NOTHING`,
		a.N, a.StartedAt, a.FinishedAt, string(a.Answer), a.Status, a.Code, a.Error, a.Detail, a.Process, runID)
}

const insertRun = `
	INSERT INTO runs (changed, run_id, job_id, parent, scheduled_at, until, count, trigger, state, reason, revision, overlap, pace,
		target, call, body, planned_at, finished_at, by, why,
		due_at, slot, waiting, attempt, send_before, key_safe_until, lease_token, leased_by, leased_at, started_at, late_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (run_id) DO NOTHING`

func (t *tx) Insert(list []ledger.Row) ledger.Future[[]bool] {
	inserted := make([]bool, len(list))
	var calls callcodec.Encoder
	for i := range list {
		ok, err := t.insert(&list[i], &calls)
		if err != nil {
			t.failed = fmt.Errorf("run %s: %w", list[i].ID, err)
			break
		}
		inserted[i] = ok
	}
	return ledger.ResolvedFuture(inserted, t.failed)
}

func (t *tx) insert(r *ledger.Row, calls *callcodec.Encoder) (bool, error) {
	call, err := calls.Encode(&r.Call)
	if err != nil {
		return false, err
	}
	n, err := t.exec(insertRun, t.change, r.ID, ledger.IDJob(&r.Run), orNull(r.Parent), r.ScheduledAt.UnixMicro(), micros(r.Until), r.Count,
		string(r.Trigger), string(r.State), string(r.Reason), r.Revision, overlapOf(r), int(r.Pace),
		r.Call.Target, orNull(call), []byte(r.Call.Body), r.PlannedAt.UnixMicro(), micros(r.FinishedAt), r.By, r.Why,
		micros(r.DueAt()), slotOf(r), r.Waiting, r.Attempt, micros(r.SendBefore), micros(r.KeySafeUntil), orNull(r.Token), r.LeasedBy,
		micros(r.LeasedAt),
		micros(r.StartedAt), micros(r.LateAt))
	return n > 0, err
}

// Delete deletes rows, with their attempts.
func (t *tx) Delete(ids []string) error {
	return t.Exec(`DELETE FROM runs WHERE run_id IN (SELECT value FROM json_each(?))`, ids)
}

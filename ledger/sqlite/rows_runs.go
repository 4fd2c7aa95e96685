package sqlite

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/callcodec"
)

// column is a column of runs, and a row's value of it.
type column struct {
	name  string
	of    ledger.Columns // whose change writes it; 0: it never changes
	value func(*encodedRow) any
}

// encodedRow is a row with its call as the column call has it.
type encodedRow struct {
	*ledger.Row
	call string
}

// takesSlot is the text of the column overlap of a run that takes its job's slot.
const takesSlot = "queue"

// runTable has the columns that a row is written to.
var runTable = []column{
	{"run_id", 0, func(r *encodedRow) any { return r.ID }},
	{"job_id", 0, func(r *encodedRow) any { return ledger.IDJob(&r.Run) }},
	{"parent", 0, func(r *encodedRow) any { return orNull(r.Parent) }},
	{"scheduled_at", 0, func(r *encodedRow) any { return r.ScheduledAt.UnixMicro() }},
	{"until", 0, func(r *encodedRow) any { return micros(r.Until) }},
	{"planned_at", 0, func(r *encodedRow) any { return r.PlannedAt.UnixMicro() }},
	{"revision", 0, func(r *encodedRow) any { return r.Revision }},
	{"state", ledger.ColState, func(r *encodedRow) any { return string(r.State) }},
	{"reason", ledger.ColState, func(r *encodedRow) any { return string(r.Reason) }},
	{"target", ledger.ColCall, func(r *encodedRow) any { return r.Call.Target }},
	{"call", ledger.ColCall, func(r *encodedRow) any { return orNull(r.call) }},
	{"body", ledger.ColCall, func(r *encodedRow) any { return []byte(r.Call.Body) }},
	{"trigger", ledger.ColPlan, func(r *encodedRow) any { return string(r.Trigger) }},
	{"overlap", ledger.ColPlan, overlapOf},
	{"pace", ledger.ColPlan, func(r *encodedRow) any { return int(r.Pace) }},
	{"count", ledger.ColCount, func(r *encodedRow) any { return r.Count }},
	{"attempt", ledger.ColAttempt, func(r *encodedRow) any { return r.Attempt }},
	{"failures", ledger.ColFailures, func(r *encodedRow) any { return r.Failures }},
	{"replayed", ledger.ColReplayed, func(r *encodedRow) any { return r.Replayed }},
	{"status", ledger.ColStatus, func(r *encodedRow) any { return r.Status }},
	{"due_at", ledger.ColDue, func(r *encodedRow) any { return micros(r.DueAt()) }},
	{"waiting", ledger.ColSlot, func(r *encodedRow) any { return r.Waiting }},
	{"slot", ledger.ColSlot, func(r *encodedRow) any { return orNull(r.SlotKey()) }},
	{"waits_for", ledger.ColWait, func(r *encodedRow) any { return orNull(r.WaitReason.String()) }},
	{"accepted_at", ledger.ColAccepted, func(r *encodedRow) any { return micros(r.AcceptedAt) }},
	{"progress", ledger.ColProgress, func(r *encodedRow) any { return orNull(r.Progress) }},
	{"lease_token", ledger.ColLease, func(r *encodedRow) any { return orNull(r.Token) }},
	{"leased_by", ledger.ColLease, func(r *encodedRow) any { return r.LeasedBy }},
	{"leased_at", ledger.ColLease, func(r *encodedRow) any { return micros(r.LeasedAt) }},
	{"started_at", ledger.ColStart, func(r *encodedRow) any { return micros(r.StartedAt) }},
	{"send_before", ledger.ColStart, func(r *encodedRow) any { return micros(r.SendBefore) }},
	{"key_safe_until", ledger.ColStart, func(r *encodedRow) any { return micros(r.KeySafeUntil) }},
	{"finished_at", ledger.ColFinished, func(r *encodedRow) any { return micros(r.FinishedAt) }},
	{"acked_at", ledger.ColAcked, func(r *encodedRow) any { return micros(r.AckedAt) }},
	{"late_at", ledger.ColLate, func(r *encodedRow) any { return micros(r.LateAt) }},
	{"rerun_id", ledger.ColRerun, func(r *encodedRow) any { return r.RerunID }},
	{"fan", ledger.ColFan, func(r *encodedRow) any { return orNull(r.Fan.String()) }},
	{"by", ledger.ColActor, func(r *encodedRow) any { return r.By }},
	{"why", ledger.ColActor, func(r *encodedRow) any { return r.Why }},
}

// attemptTable are the columns of attempts beside run and n. A run's first attempt has
// them in its own row, with the prefix first_.
var attemptTable = []struct {
	name  string
	value func(*ledger.Attempt) any
}{
	{"started_at", func(a *ledger.Attempt) any { return micros(a.StartedAt) }},
	{"finished_at", func(a *ledger.Attempt) any { return micros(a.FinishedAt) }},
	{"answer", func(a *ledger.Attempt) any { return string(a.Answer) }},
	{"status", func(a *ledger.Attempt) any { return a.Status }},
	{"code", func(a *ledger.Attempt) any { return a.Code }},
	{"error", func(a *ledger.Attempt) any { return a.Error }},
	{"detail", func(a *ledger.Attempt) any { return a.Detail }},
	{"owner", func(a *ledger.Attempt) any { return a.Process }},
}

// overlapOf returns the column overlap, which tells only whether the run takes the slot.
func overlapOf(r *encodedRow) any {
	if r.TakesSlot {
		return takesSlot
	}
	return ""
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

// update writes one change, and reports whether its row was as the change expects it.
func (t *tx) update(c *ledger.RowChange) (bool, error) {
	args := make([]any, 0, len(runTable))
	if !c.Unlisted {
		args = append(args, t.change)
	}
	row := encodedRow{Row: c.Row}
	if c.Set&ledger.ColCall != 0 {
		var err error
		if row.call, err = new(callcodec.Encoder).Encode(&c.Row.Call); err != nil {
			return false, err
		}
	}
	for _, column := range runTable {
		if c.Set&column.of != 0 {
			args = append(args, column.value(&row))
		}
	}
	shape := updateShape{set: c.Set, unlisted: c.Unlisted, first: c.Attempt != nil && c.Attempt.N == 1, fenced: c.LeasedAs != ""}
	if shape.first {
		args = appendAttempt(args, c.Attempt)
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

// updateShape identifies the statement of an update.
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
	for _, column := range runTable {
		if s.set&column.of != 0 {
			set = append(set, column.name+` = ?`)
		}
	}
	if s.first {
		for _, column := range attemptTable {
			set = append(set, `first_`+column.name+` = ?`)
		}
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
	return t.Exec(insertAttempt, append(appendAttempt([]any{a.N}, a), runID)...)
}

// appendAttempt adds the columns of an attempt to the arguments.
func appendAttempt(args []any, a *ledger.Attempt) []any {
	for _, column := range attemptTable {
		args = append(args, column.value(a))
	}
	return args
}

var insertRun, insertAttempt = insertStatements()

// insertStatements returns the statements that insert a run and an attempt.
func insertStatements() (run, attempt string) {
	var ofRun, ofAttempt []string
	for _, column := range runTable {
		ofRun = append(ofRun, column.name)
	}
	for _, column := range attemptTable {
		ofAttempt = append(ofAttempt, column.name)
	}
	run = `INSERT INTO runs (changed, ` + strings.Join(ofRun, `, `) + `) VALUES (?` + strings.Repeat(`, ?`, len(ofRun)) + `)
		ON CONFLICT (run_id) DO NOTHING`
	attempt = `INSERT INTO attempts (run, n, ` + strings.Join(ofAttempt, `, `) + `)
		SELECT id, ?` + strings.Repeat(`, ?`, len(ofAttempt)) + ` FROM runs WHERE run_id = ?
		ON CONFLICT (run, n) DO NOTHING`
	return run, attempt
}

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

// insert writes one row, and reports whether no other one has its ID.
func (t *tx) insert(r *ledger.Row, calls *callcodec.Encoder) (bool, error) {
	call, err := calls.Encode(&r.Call)
	if err != nil {
		return false, err
	}
	row := encodedRow{r, call}
	args := append(make([]any, 0, 1+len(runTable)), t.change)
	for _, column := range runTable {
		args = append(args, column.value(&row))
	}
	n, err := t.exec(insertRun, args...)
	return n > 0, err
}

// Delete deletes rows, with their attempts.
func (t *tx) Delete(ids []string) error {
	return t.Exec(`DELETE FROM runs WHERE run_id IN (SELECT value FROM json_each(?))`, ids)
}

package postgres

import (
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/callcodec"
)

// column is a column of runs, and how a row's value of it is written.
type column struct {
	name string
	of   ledger.Columns // whose change writes it; 0: it never changes
	datatype
	put func([]byte, *encodedRow) []byte
}

// encodedRow is a row with its call as the columns call and body have it.
type encodedRow struct {
	*ledger.Row
	call string
}

// runTable has the columns that a row is written to.
var runTable = []column{
	{"run_id", 0, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, r.ID) }},
	{"job_id", 0, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, ledger.IDJob(&r.Run)) }},
	{"parent", 0, textKind, func(b []byte, r *encodedRow) []byte { return appendTextOrNull(b, r.Parent) }},
	{"fan", ledger.ColFan, textKind, func(b []byte, r *encodedRow) []byte { return appendTextOrNull(b, r.Fan.String()) }},
	{"scheduled_at", 0, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.ScheduledAt) }},
	{"until", 0, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.Until) }},
	{"planned_at", 0, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.PlannedAt) }},
	{"revision", 0, int8Kind, func(b []byte, r *encodedRow) []byte { return appendInt8(b, r.Revision) }},
	{"state", ledger.ColState, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, string(r.State)) }},
	{"reason", ledger.ColState, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, string(r.Reason)) }},
	{"target", ledger.ColCall, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, r.Call.Target) }},
	{"horizon", ledger.ColCall, int8Kind, func(b []byte, r *encodedRow) []byte { return appendInt8(b, r.Call.Horizon.Microseconds()) }},
	{"call", ledger.ColCall, textKind, func(b []byte, r *encodedRow) []byte { return appendJSON(b, r.call) }},
	{"body", ledger.ColCall, bytesKind, func(b []byte, r *encodedRow) []byte { return appendBytes(b, r.Call.Body) }},
	{"trigger", ledger.ColPlan, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, string(r.Trigger)) }},
	{"takes_slot", ledger.ColPlan, boolKind, func(b []byte, r *encodedRow) []byte { return appendBool(b, r.TakesSlot) }},
	{"pace", ledger.ColPlan, int4Kind, func(b []byte, r *encodedRow) []byte { return appendInt4(b, int(r.Pace)) }},
	{"count", ledger.ColCount, int8Kind, func(b []byte, r *encodedRow) []byte { return appendInt8(b, int64(r.Count)) }},
	{"attempt", ledger.ColAttempt, int4Kind, func(b []byte, r *encodedRow) []byte { return appendInt4(b, r.Attempt) }},
	{"failures", ledger.ColFailures, int4Kind, func(b []byte, r *encodedRow) []byte { return appendInt4(b, r.Failures) }},
	{"replayed", ledger.ColReplayed, boolKind, func(b []byte, r *encodedRow) []byte { return appendBool(b, r.Replayed) }},
	{"status", ledger.ColStatus, int4Kind, func(b []byte, r *encodedRow) []byte { return appendInt4(b, r.Status) }},
	{"due_at", ledger.ColDue, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.DueAt()) }},
	{"waiting", ledger.ColSlot, boolKind, func(b []byte, r *encodedRow) []byte { return appendBool(b, r.Waiting) }},
	{"slot", ledger.ColSlot, textKind, func(b []byte, r *encodedRow) []byte { return appendTextOrNull(b, r.SlotKey()) }},
	{"waits_for", ledger.ColWait, textKind, func(b []byte, r *encodedRow) []byte { return appendTextOrNull(b, r.WaitReason.String()) }},
	{"accepted_at", ledger.ColAccepted, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.AcceptedAt) }},
	{"progress", ledger.ColProgress, textKind, func(b []byte, r *encodedRow) []byte { return appendTextOrNull(b, r.Progress) }},
	{"lease_token", ledger.ColLease, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, r.Token) }},
	{"leased_by", ledger.ColLease, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, r.LeasedBy) }},
	{"leased_at", ledger.ColLease, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.LeasedAt) }},
	{"started_at", ledger.ColStart, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.StartedAt) }},
	{"send_before", ledger.ColStart, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.SendBefore) }},
	{"key_safe_until", ledger.ColStart, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.KeySafeUntil) }},
	{"finished_at", ledger.ColFinished, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.FinishedAt) }},
	{"acked_at", ledger.ColAcked, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.AckedAt) }},
	{"late_at", ledger.ColLate, timeKind, func(b []byte, r *encodedRow) []byte { return appendTime(b, r.LateAt) }},
	{"rerun_id", ledger.ColRerun, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, r.RerunID) }},
	{"by", ledger.ColActor, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, r.By) }},
	{"why", ledger.ColActor, textKind, func(b []byte, r *encodedRow) []byte { return appendText(b, r.Why) }},
}

// attemptTable are the columns of attempts beside run_id and n. A run's first attempt has
// them in its own row, with the prefix first_.
var attemptTable = []struct {
	name string
	datatype
	put func([]byte, *ledger.Attempt) []byte
}{
	{"started_at", timeKind, func(b []byte, a *ledger.Attempt) []byte { return appendTime(b, a.StartedAt) }},
	{"finished_at", timeKind, func(b []byte, a *ledger.Attempt) []byte { return appendTime(b, a.FinishedAt) }},
	{"status", int4Kind, func(b []byte, a *ledger.Attempt) []byte { return appendInt4(b, a.Status) }},
	{"answer", textKind, func(b []byte, a *ledger.Attempt) []byte { return appendText(b, string(a.Answer)) }},
	{"code", textKind, func(b []byte, a *ledger.Attempt) []byte { return appendText(b, a.Code) }},
	{"error", textKind, func(b []byte, a *ledger.Attempt) []byte { return appendText(b, a.Error) }},
	{"detail", textKind, func(b []byte, a *ledger.Attempt) []byte { return appendText(b, a.Detail) }},
	{"owner", textKind, func(b []byte, a *ledger.Attempt) []byte { return appendText(b, a.Process) }},
}

// names joins the names of columns, each after a prefix.
func names(prefix string, columns []column) string {
	var list []string
	for _, c := range columns {
		list = append(list, prefix+c.name)
	}
	return strings.Join(list, ", ")
}

// changedColumns returns the columns that a change of fields writes.
func changedColumns(set ledger.Columns) []column {
	return slices.DeleteFunc(slices.Clone(runTable), func(c column) bool { return c.of&set == 0 })
}

// encodeRow returns a row with the text of its call; a row that is not to run has none. Rows with
// equal calls share one text.
func encodeRow(r *ledger.Row, e *callcodec.Encoder) (encodedRow, error) {
	call, err := e.Encode(&r.Call)
	return encodedRow{r, call}, err
}

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
	put func([]byte, *stored) []byte
}

// stored is a row with its call as the columns call and body have it.
type stored struct {
	*ledger.Row
	call []byte
}

// columns are those that a row is written to.
var runTable = []column{
	{"run_id", 0, textKind, func(b []byte, r *stored) []byte { return appendText(b, r.ID) }},
	{"job_id", 0, textKind, func(b []byte, r *stored) []byte { return appendText(b, ledger.IDJob(&r.Run)) }},
	{"parent", 0, textKind, func(b []byte, r *stored) []byte { return appendTextOrNull(b, r.Parent) }},
	{"fan", ledger.ColFan, textKind, func(b []byte, r *stored) []byte { return appendTextOrNull(b, r.Fan.String()) }},
	{"scheduled_at", 0, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.ScheduledAt) }},
	{"until", 0, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.Until) }},
	{"planned_at", 0, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.PlannedAt) }},
	{"revision", 0, int8Kind, func(b []byte, r *stored) []byte { return appendInt8(b, r.Revision) }},
	{"state", ledger.ColState, textKind, func(b []byte, r *stored) []byte { return appendText(b, string(r.State)) }},
	{"reason", ledger.ColState, textKind, func(b []byte, r *stored) []byte { return appendText(b, string(r.Reason)) }},
	{"target", ledger.ColCall, textKind, func(b []byte, r *stored) []byte { return appendText(b, r.Call.Target) }},
	{"horizon", ledger.ColCall, int8Kind, func(b []byte, r *stored) []byte { return appendInt8(b, r.Call.Horizon.Microseconds()) }},
	{"call", ledger.ColCall, textKind, func(b []byte, r *stored) []byte { return appendBytes(b, r.call) }},
	{"body", ledger.ColCall, bytesKind, func(b []byte, r *stored) []byte { return appendBytes(b, r.Call.Body) }},
	{"trigger", ledger.ColPlan, textKind, func(b []byte, r *stored) []byte { return appendText(b, string(r.Trigger)) }},
	{"takes_slot", ledger.ColPlan, boolKind, func(b []byte, r *stored) []byte { return appendBool(b, r.TakesSlot) }},
	{"pace", ledger.ColPlan, int4Kind, func(b []byte, r *stored) []byte { return appendInt4(b, int(r.Pace)) }},
	{"count", ledger.ColCount, int8Kind, func(b []byte, r *stored) []byte { return appendInt8(b, int64(r.Count)) }},
	{"attempt", ledger.ColAttempt, int4Kind, func(b []byte, r *stored) []byte { return appendInt4(b, r.Attempt) }},
	{"failures", ledger.ColFailures, int4Kind, func(b []byte, r *stored) []byte { return appendInt4(b, r.Failures) }},
	{"replayed", ledger.ColReplayed, boolKind, func(b []byte, r *stored) []byte { return appendBool(b, r.Replayed) }},
	{"status", ledger.ColStatus, int4Kind, func(b []byte, r *stored) []byte { return appendInt4(b, r.Status) }},
	{"due_at", ledger.ColDue, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.DueAt()) }},
	{"waiting", ledger.ColSlot, boolKind, func(b []byte, r *stored) []byte { return appendBool(b, r.Waiting) }},
	{"slot", ledger.ColSlot, textKind, func(b []byte, r *stored) []byte {
		switch {
		case !r.HasSlot:
			return appendNull(b)
		case r.Pace != 0: // the places of a job are between job@ and jobA
			return appendText(b, r.ID)
		}
		return appendText(b, r.JobID)
	}},
	{"waits_for", ledger.ColWait, textKind, func(b []byte, r *stored) []byte { return appendTextOrNull(b, r.WaitReason.String()) }},
	{"accepted_at", ledger.ColAccepted, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.AcceptedAt) }},
	{"progress", ledger.ColProgress, textKind, func(b []byte, r *stored) []byte { return appendTextOrNull(b, r.Progress) }},
	{"lease_token", ledger.ColLease, textKind, func(b []byte, r *stored) []byte { return appendText(b, r.Token) }},
	{"leased_by", ledger.ColLease, textKind, func(b []byte, r *stored) []byte { return appendText(b, r.LeasedBy) }},
	{"leased_at", ledger.ColLease, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.LeasedAt) }},
	{"started_at", ledger.ColStart, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.StartedAt) }},
	{"send_before", ledger.ColStart, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.SendBefore) }},
	{"key_safe_until", ledger.ColStart, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.KeySafeUntil) }},
	{"finished_at", ledger.ColFinished, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.FinishedAt) }},
	{"acked_at", ledger.ColAcked, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.AckedAt) }},
	{"late_at", ledger.ColLate, timeKind, func(b []byte, r *stored) []byte { return appendTime(b, r.LateAt) }},
	{"rerun_id", ledger.ColRerun, textKind, func(b []byte, r *stored) []byte { return appendText(b, r.RerunID) }},
	{"by", ledger.ColActor, textKind, func(b []byte, r *stored) []byte { return appendText(b, r.By) }},
	{"why", ledger.ColActor, textKind, func(b []byte, r *stored) []byte { return appendText(b, r.Why) }},
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
	{"owner", textKind, func(b []byte, a *ledger.Attempt) []byte { return appendText(b, a.Owner) }},
}

// rowColumns are what a rowReader reads of runs r. Without the body that a run sends, a
// row is much smaller.
const (
	rowColumns    = rowFirst + `r.body` + rowRest
	rowColumnsNil = rowFirst + `NULL::bytea` + rowRest

	rowFirst = ` r.run_id, r.job_id, r.parent, r.fan, r.scheduled_at, r.until, r.planned_at, r.revision, r.state, r.reason, r.call, `
	rowRest  = `, r.trigger, r.takes_slot, r.pace, r.count, r.attempt, r.failures, r.replayed, r.status,
		r.due_at, r.waiting, r.slot IS NOT NULL, r.waits_for, r.accepted_at, r.progress, r.lease_token, r.leased_by, r.leased_at,
		r.started_at, r.send_before, r.key_safe_until, r.finished_at, r.acked_at, r.late_at, r.rerun_id, r.by, r.why `
)

// rowReader reads rows. It decodes the calls of many runs that were frozen with the same
// bytes once.
type rowReader struct{ calls callcodec.Decoder }

func (s *rowReader) row(v *values) (r ledger.Row, err error) {
	r.ID, r.JobID, r.Parent = v.text(), v.text(), v.text()
	if r.Parent != "" {
		r.JobID = ledger.JobOfID(r.JobID)
	}
	if r.Fan, err = ledger.ParseFan(v.text()); err != nil {
		return r, err
	}
	r.ScheduledAt, r.Until, r.PlannedAt = v.time(), v.time(), v.time()
	r.Revision, r.State, r.Reason = v.int(), ledger.State(v.text()), ledger.Reason(v.text())
	if r.Call, err = s.calls.Decode(v.next(), v.bytes()); err != nil {
		return r, err
	}
	r.Trigger, r.TakesSlot, r.Pace = ledger.Trigger(v.text()), v.bool(), ledger.Pace(v.int())
	r.Count, r.Run.Attempt = int(v.int()), int(v.int())
	r.Failures, r.Replayed, r.Status = int(v.int()), v.bool(), int(v.int())
	r.SetDueAt(v.time())
	r.Waiting, r.HasSlot = v.bool(), v.bool()
	if wait := v.text(); wait != "" {
		r.WaitReason = ledger.ParseWaitReason(wait)
	}
	r.AcceptedAt, r.Progress, r.Token, r.LeasedBy, r.LeasedAt = v.time(), v.text(), v.text(), v.text(), v.time()
	r.StartedAt, r.SendBefore, r.KeySafeUntil = v.time(), v.time(), v.time()
	r.FinishedAt, r.AckedAt, r.LateAt = v.time(), v.time(), v.time()
	r.RerunID, r.By, r.Why = v.text(), v.text(), v.text()
	return r, nil
}

// names joins the names of columns, each after a prefix.
func names(prefix string, columns []column) string {
	var list []string
	for _, c := range columns {
		list = append(list, prefix+c.name)
	}
	return strings.Join(list, ", ")
}

// changed returns the columns that a change of fields writes.
func changedColumns(set ledger.Columns) []column {
	return slices.DeleteFunc(slices.Clone(runTable), func(c column) bool { return c.of&set == 0 })
}

// freeze returns a row with the text of its call; a row that is not to run has none. The
// body has a column of its own: as part of that text, its bytes could change.
func freeze(r *ledger.Row) (stored, error) {
	call, _, err := callcodec.Encode(r.Call)
	return stored{r, call}, err
}

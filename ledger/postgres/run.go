package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// runColumns are what scanRun reads, of the table or alias r. listColumns are the
// same without the body that the run sends: it may be large, and no list shows it.
const (
	runColumns  = runFirst + `r.body` + runRest
	listColumns = runFirst + `NULL::bytea` + runRest

	runFirst = ` r.run_id, r.job_id, r.scheduled_at, r.until, r.count, r.trigger, r.state, r.reason, r.revision, r.call, `
	runRest  = `, r.attempt, r.failures, r.replayed, r.status, r.due_at, r.send_before, r.key_safe_until, r.leased_by,
	r.planned_at, r.started_at, r.finished_at, r.acked_at, r.rerun_id, r.by, r.why, coalesce(r.waits_for, ''), r.accepted_at, coalesce(r.progress, '') `
)

func scanRun(row pgx.CollectableRow) (ledger.Run, error) {
	var (
		r                                            ledger.Run
		until, due, before, started, finished, acked *time.Time
		accepted, safe                               *time.Time
		call, body                                   []byte
		holder, waits                                string
	)
	err := row.Scan(&r.ID, &r.JobID, &r.ScheduledAt, &until, &r.Count, &r.Trigger, &r.State, &r.Reason, &r.Revision,
		&call, &body, &r.Attempt, &r.Failures, &r.Replayed, &r.Status, &due, &before, &safe, &holder,
		&r.PlannedAt, &started, &finished, &acked, &r.RerunID, &r.By, &r.Why, &waits, &accepted, &r.Progress)
	if err != nil {
		return r, err
	}
	r.Until, r.SendBefore, r.KeySafeUntil, r.StartedAt = timeOf(until), timeOf(before), timeOf(safe), timeOf(started)
	r.FinishedAt, r.AckedAt, r.AcceptedAt = timeOf(finished), timeOf(acked), timeOf(accepted)
	if waits != "" {
		r.WaitReason = ledger.ParseWaitReason(waits)
	}
	if r.State == ledger.Running {
		r.LeasedBy, r.LeasedUntil = holder, timeOf(due)
	} else {
		r.NextAt = timeOf(due)
	}
	r.Call, err = decodeCall(call, body)
	return r, err
}

// prefixed is a row with columns before those that its reader knows.
type prefixed struct {
	pgx.CollectableRow
	first []any
}

func (p prefixed) Scan(dest ...any) error {
	return p.CollectableRow.Scan(slices.Concat(p.first, dest)...)
}

// encodeCall is a call as the columns call and body hold it.
func encodeCall(c ledger.Call) (call, body []byte, err error) {
	body, c.Body = c.Body, nil
	call, err = json.Marshal(c)
	return call, body, err
}

func decodeCall(call, body []byte) (c ledger.Call, err error) {
	if call == nil {
		return c, nil
	}
	if err := json.Unmarshal(call, &c); err != nil {
		return c, fmt.Errorf("the stored call cannot be read: %w", err)
	}
	c.Body = body
	return c, nil
}

// timeOf is the zero time for NULL.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// orNull is nil, which is sent as NULL, for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// microseconds is how statements take a duration: d * interval '1 microsecond'.
func microseconds(d time.Duration) int64 { return d.Microseconds() }

// sanitize makes a text from outside acceptable to PostgreSQL: valid UTF-8 without
// NUL. An invalid byte in a target's answer must not prevent its record. An ID with
// an invalid byte finds no row, since no ID contains the replacement character.
func sanitize(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func sanitizeAll(list []string) []string {
	cleaned := make([]string, len(list))
	for i, s := range list {
		cleaned[i] = sanitize(s)
	}
	return cleaned
}

// orEmpty keeps a nil list from becoming NULL, which equals nothing and
// differs from nothing.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ChangeSchedules creates, changes or deletes schedules. See ChangeSchedulesRequest.
func (l *Ledger) ChangeSchedules(ctx context.Context, c ChangeSchedulesRequest) ([]ScheduleResult, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(c.Items) == 1 {
		return l.changes.join(ctx, c, l.changeSchedules)
	}
	return firstResult(l.changeSchedules(ctx, []ChangeSchedulesRequest{c}))
}

// firstResult returns the results of the only request.
func firstResult(results [][]ScheduleResult, err error) ([]ScheduleResult, error) {
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// changeSchedules makes changes of different schedules of one template in one transaction. It tries
// again if another process has inserted one of them meanwhile: it is then there to be locked.
func (l *Ledger) changeSchedules(ctx context.Context, changes []ChangeSchedulesRequest) ([][]ScheduleResult, error) {
	name := "change schedules of " + changes[0].Template
	for range 3 {
		results, err := write(ctx, l, name, func(tx Tx) ([][]ScheduleResult, error) {
			m := scheduleChangeTx{tx: tx, requests: make([]scheduleRequest, len(changes))}
			for i := range changes {
				m.requests[i].ChangeSchedulesRequest = changes[i]
			}
			return m.run()
		})
		if !errors.Is(err, errInsertedMeanwhile) {
			return results, err
		}
	}
	return nil, fmt.Errorf("%s: %w", name, errInsertedMeanwhile)
}

// errInsertedMeanwhile is the end of a transaction that is made again: another one made the
// same schedule.
var errInsertedMeanwhile = fmt.Errorf("another process made the schedule at the same time: %w", ErrUnavailable)

// errSplitBatch is the end of a transaction whose changes have to be made one by one.
var errSplitBatch = errors.New("too many scheduled times for one transaction of several requests")

// scheduleChangeTx are changes of schedules in their transaction. Each item is decided by itself.
// What the contents that end were still to do is planned first, as the last plan of a revision is.
type scheduleChangeTx struct {
	requests []scheduleRequest
	tx       Tx
	now      time.Time
	template TemplateRow
	job      JobRow // of the template
	pauses   pauses // all that the ledger keeps, if a schedule is in the quota

	outgoing  []currentPlan // of contents that end
	runs      int           // of these
	overLimit bool          // a change was refused that may have room alone
	inserts   []ScheduleRow
	updates   []ScheduleUpdate
}

// scheduleRequest is one ChangeSchedulesRequest of a transaction, which may have several of
// different callers.
type scheduleRequest struct {
	ChangeSchedulesRequest
	results []ScheduleResult
	changed []string // job IDs
}

// run decides about each item, and writes what they change together. It returns errSplitBatch if a
// request was refused for lack of room that it would have alone.
func (m *scheduleChangeTx) run() ([][]ScheduleResult, error) {
	stored, err := m.read()
	if err != nil {
		return nil, err
	}
	results := make([][]ScheduleResult, len(m.requests))
	before := m.template.Schedules
	for i := range m.requests {
		r := &m.requests[i]
		r.results = make([]ScheduleResult, len(r.Items))
		for k := range r.Items {
			r.results[k] = m.change(r, &r.Items[k], stored[r.Items[k].JobID])
			r.results[k].Schedule = r.results[k].Schedule.withPauseOf(m.job)
			if len(m.requests) > 1 && m.overLimit {
				return nil, errSplitBatch
			}
		}
		results[i] = r.results
	}
	if len(m.inserts)+len(m.updates) == 0 {
		return results, nil
	}
	if err := m.write(); err != nil {
		return nil, err
	}
	if m.template.Schedules != before {
		if err := m.tx.PutTemplate(m.template); err != nil {
			return nil, err
		}
	}
	return results, m.audit()
}

// audit writes an entry for each request that has changed something.
func (m *scheduleChangeTx) audit() error {
	var entries []Audit
	for i := range m.requests {
		if r := &m.requests[i]; len(r.changed) > 0 {
			added, err := auditEntries(r.audit(), nil, r.results)
			if err != nil {
				return err
			}
			entries = append(entries, added...)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return m.tx.AddAudit(entries)
}

// read locks the schedules, and then, if one may begin or end, the template, whose quota counts
// them. It takes that lock last, since all changes of the template wait for it.
func (m *scheduleChangeTx) read() (stored map[string]*ScheduleRow, err error) {
	var ids []string
	template := m.requests[0].Template
	for i := range m.requests {
		for k := range m.requests[i].Items {
			ids = append(ids, m.requests[i].Items[k].JobID)
		}
	}
	rowsFuture, jobsFuture := m.tx.LockSchedules(sortedSet(ids)), m.tx.Jobs([]string{template})
	if m.now, err = m.tx.Now(); err != nil {
		return nil, err
	}
	rows, err := rowsFuture.Get()
	if err != nil {
		return nil, err
	}
	stored = make(map[string]*ScheduleRow, len(rows))
	for i := range rows {
		stored[rows[i].JobID] = &rows[i]
	}
	if m.job, err = singleJob(jobsFuture); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(rows, func(s ScheduleRow) bool { return s.InQuota() }) {
		if m.pauses, err = m.tx.Pauses(time.Unix(0, 0)).Get(); err != nil {
			return nil, err
		}
	}
	if m.changesQuota(stored) {
		m.template, err = m.tx.LockTemplate(template).Get()
	}
	return stored, err
}

// changesQuota reports whether a schedule may begin or end.
func (m *scheduleChangeTx) changesQuota(stored map[string]*ScheduleRow) bool {
	for i := range m.requests {
		for k := range m.requests[i].Items {
			in := &m.requests[i].Items[k]
			if old := stored[in.JobID]; old == nil || in.Delete || !old.InQuota() {
				return true
			}
		}
	}
	return false
}

// write writes the last runs of the contents that end, and the schedules.
func (m *scheduleChangeTx) write() error {
	if len(m.outgoing) > 0 {
		a := admissionTx{tx: m.tx, pauses: m.pauses, last: true, got: Admitted{Now: m.now, Skipped: map[Reason]int{}}}
		if err := a.admitSchedules(m.outgoing); err != nil {
			return err
		}
	}
	if len(m.updates) > 0 {
		if err := m.tx.UpdateSchedules(m.updates); err != nil {
			return err
		}
	}
	if len(m.inserts) == 0 {
		return nil
	}
	inserted, err := m.tx.InsertSchedules(m.inserts).Get()
	for _, ok := range inserted {
		if !ok && err == nil {
			err = errInsertedMeanwhile
		}
	}
	return err
}

// Validate returns ErrInvalidSchedule for what no schedule can be, and ErrInvalidActor.
func (c *ChangeSchedulesRequest) Validate() error {
	if err := c.Actor.Validate(); err != nil {
		return err
	}
	if n := len(c.Items); n < 1 || n > MaxScheduleChanges {
		return fmt.Errorf("%w: %d schedules at once; change 1 to %d", ErrInvalidSchedule, n, MaxScheduleChanges)
	}
	known := make(map[string]bool, len(c.Items))
	for i := range c.Items {
		in := &c.Items[i]
		switch id := in.JobID; {
		case !validScheduleID(id) || TemplateOf(id) != c.Template:
			return fmt.Errorf(`%w: ID %.100q; it must be the template's ID, of at most 32 characters, ":" and a key of 1 to 48 letters, `+
				`digits, ".", "_" and "-" that begins with a letter or digit`, ErrInvalidSchedule, id)
		case known[id]:
			return fmt.Errorf("%w: %s is in the list twice", ErrInvalidSchedule, id)
		case len(in.Data) > MaxScheduleData:
			return fmt.Errorf("%w: %s has %d bytes of data; the maximum is %d", ErrInvalidSchedule, id, len(in.Data), MaxScheduleData)
		case in.Until.Nanosecond() != 0:
			return fmt.Errorf("%w: until of %s has a fraction of a second", ErrInvalidSchedule, id)
		case in.Generation < 0:
			return fmt.Errorf("%w: generation %d of %s; it must be at least 1, or left out", ErrInvalidSchedule, in.Generation, id)
		}
		known[in.JobID] = true
	}
	return nil
}

// validScheduleID reports whether a job ID is a template's ID, ":" and a key, as Validate
// describes.
func validScheduleID(id string) bool {
	template, key, _ := strings.Cut(id, ":")
	for i := range len(key) {
		c := key[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return template != "" && len(template) <= 32 && isPlainJobID(template) && key != "" && len(key) <= 48
}

package ledger

import (
	"context"
	"time"
)

// ScheduleSweep checks a page of schedules for those that are due earlier than their NextAt: by the
// definition of their template, or because a pause was changed that kept them back. Others take up the
// definition when they are due.
type ScheduleSweep struct {
	TemplateRevision
	Swept string // TemplateRow.Swept when the sweep began
	Rules ScheduleRules
	After int64 // 0, or what the page before returned
}

// sweepPage is the number of schedules that a sweep checks in a transaction.
const sweepPage = 1000

// SweepSchedules sweeps one page, and returns where the next begins; 0: the sweep is done, for every
// process, unless a plan has another one.
func (l *Ledger) SweepSchedules(ctx context.Context, s ScheduleSweep) (next int64, err error) {
	return write(ctx, l, "sweep schedules of "+s.Template, s.sweep)
}

// sweep is the transaction of SweepSchedules. The last page notes in the template that all were
// swept, unless a change has asked for another sweep meanwhile.
func (s ScheduleSweep) sweep(tx Tx) (next int64, err error) {
	page, err := tx.LockSchedulesAfter(s.Template, s.After, sweepPage).Get()
	if err != nil {
		return 0, err
	}
	jobs, err := tx.Jobs([]string{s.Template}).Get()
	p := SchedulePlanning{Templates: []TemplateRevision{s.TemplateRevision}}
	if err != nil || len(p.moved(jobs)) > 0 {
		return 0, err // another process sweeps for another definition
	}
	if page.Last == 0 {
		t, err := tx.LockTemplate(s.Template).Get()
		if err != nil || t.Swept != s.Swept {
			return 0, err
		}
		t.Swept = s.Hash
		return 0, tx.PutTemplate(t)
	}
	now, err := tx.Now()
	if err != nil {
		return 0, err
	}
	var updates []ScheduleUpdate
	for i := range page.Rows {
		if r := &page.Rows[i]; s.bringForward(r, now) {
			updates = append(updates, ScheduleUpdate{r, ScheduleColPosition})
		}
	}
	if len(updates) > 0 {
		err = tx.UpdateSchedules(updates)
	}
	return page.Last, err
}

// sweepAll has the schedules of all templates swept, after a change of a pause at a time.
func sweepAll(tx Tx, now time.Time) error {
	list, err := tx.Templates().Get()
	if err != nil {
		return err
	}
	for _, each := range list {
		t, err := tx.LockTemplate(each.Name).Get()
		if err != nil {
			return err
		}
		t.Swept = "until " + now.String()
		if err := tx.PutTemplate(t); err != nil {
			return err
		}
	}
	return nil
}

// bringForward has a schedule checked earlier if it is due earlier. One that has no scheduled time
// any more, or that cannot be read, is left to the planner.
func (s ScheduleSweep) bringForward(r *ScheduleRow, now time.Time) bool {
	next, err := nextCheck(s.Rules, &r.Schedule, now)
	if err != nil || next.IsZero() {
		next = now
	}
	if !next.Before(r.NextAt) {
		return false
	}
	r.NextAt = next
	return true
}

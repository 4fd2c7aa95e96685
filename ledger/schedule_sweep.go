package ledger

import (
	"context"
	"time"
)

// ScheduleSweep checks a page of schedules for those that the definition of their template
// makes due earlier than their NextAt. Others take up the definition when they are
// due.
type ScheduleSweep struct {
	Template string
	Revision int64  // of the template's job, as in a SchedulePlanning
	Hash     string // of the definition
	Rules    ScheduleRules
	After    int64 // 0, or what the page before returned
}

// sweepPage is the number of schedules that a sweep checks in a transaction.
const sweepPage = 1000

// SweepSchedules sweeps one page, and returns where the next begins; 0: the sweep is done,
// for every process.
func (l *Ledger) SweepSchedules(ctx context.Context, s ScheduleSweep) (next int64, err error) {
	todo, err := read(ctx, l, "look for schedules to sweep", func(tx Tx) (todo bool, err error) {
		rows, err := tx.Templates().Get()
		for _, t := range rows {
			todo = todo || t.Name == s.Template && t.Swept != s.Hash
		}
		return todo, err
	})
	if err != nil || !todo {
		return 0, err
	}
	return write(ctx, l, "sweep schedules of "+s.Template, s.sweep)
}

func (s ScheduleSweep) sweep(tx Tx) (next int64, err error) {
	page, err := tx.LockSchedulesAfter(s.Template, s.After, sweepPage).Get()
	if err != nil {
		return 0, err
	}
	jobs, err := tx.Jobs([]string{s.Template}).Get()
	p := SchedulePlanning{Templates: []TemplateRevision{{s.Template, s.Revision}}}
	if err != nil || len(p.moved(jobs)) > 0 {
		return 0, err // another process sweeps for another definition
	}
	if page.Last == 0 {
		t, err := tx.LockTemplate(s.Template).Get()
		if err != nil {
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

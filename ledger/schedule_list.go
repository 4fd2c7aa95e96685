package ledger

import (
	"context"
	"time"
)

// ScheduleFilter selects a page of the schedules of a template, by key.
type ScheduleFilter struct {
	Template  string
	KeyPrefix string
	AfterKey  string // continues a listing after its last key
	Limit     int    // at most 1000; below 1, it is 100
}

// PageSize returns how many schedules the filter selects at most.
func (f ScheduleFilter) PageSize() int { return pageSize(f.Limit, 1000) }

// Bounds returns bounds of the job IDs that the filter selects, both excluded.
func (f ScheduleFilter) Bounds() (after, below string) {
	after, below = f.Template+":"+f.KeyPrefix, f.Template+":"+f.KeyPrefix+"\x7f"
	if f.KeyPrefix != "" { // the prefix may be a key
		after = f.Template + ":" + f.KeyPrefix[:len(f.KeyPrefix)-1] + string(f.KeyPrefix[len(f.KeyPrefix)-1]-1) + "\x7f"
	}
	return max(after, f.Template+":"+f.AfterKey), below
}

// Schedules returns a page of schedules. See ScheduleFilter.
func (l *Ledger) Schedules(ctx context.Context, f ScheduleFilter) ([]Schedule, error) {
	return read(ctx, l, "list schedules", func(tx Tx) ([]Schedule, error) {
		asked, jobs := tx.Schedules(f), tx.PeekJobs([]string{f.Template})
		rows, err := asked.Get()
		if err != nil {
			return nil, err
		}
		template, err := onlyJob(jobs)
		list := make([]Schedule, len(rows))
		for i := range rows {
			list[i] = rows[i].withPauseOf(template)
		}
		return list, err
	})
}

// Schedule returns the schedule with a job ID.
func (l *Ledger) Schedule(ctx context.Context, jobID string) (Schedule, error) {
	return read(ctx, l, "read schedule "+jobID, func(tx Tx) (Schedule, error) {
		asked, jobs := tx.LockSchedules([]string{jobID}), tx.PeekJobs([]string{TemplateOf(jobID)})
		rows, err := asked.Get()
		if err == nil && (len(rows) == 0 || !rows[0].DeletedAt.IsZero()) {
			err = ErrNotFound
		}
		if err != nil {
			return Schedule{}, err
		}
		template, err := onlyJob(jobs)
		return rows[0].withPauseOf(template), err
	})
}

// onlyJob is the job of a question about one; zero: the ledger does not know it.
func onlyJob(asked Future[[]JobRow]) (JobRow, error) {
	rows, err := asked.Get()
	if len(rows) == 0 {
		return JobRow{}, err
	}
	return rows[0], err
}

// TemplateCount is how many schedules of a template have neither ended nor been deleted.
// The registry may not have the template any more.
type TemplateCount struct {
	Template  string
	Schedules int
}

// Templates lists the templates that have or had schedules, by name.
func (l *Ledger) Templates(ctx context.Context) (list []TemplateCount, err error) {
	return read(ctx, l, "list templates", func(tx Tx) (list []TemplateCount, err error) {
		rows, err := tx.Templates().Get()
		for _, t := range rows {
			list = append(list, TemplateCount{t.Name, t.Schedules})
		}
		return list, err
	})
}

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

// sweepPage is how many schedules a sweep checks in a transaction.
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
	page, err := tx.SchedulesAfter(s.Template, s.After, sweepPage).Get()
	if err != nil {
		return 0, err
	}
	jobs, err := tx.PeekJobs([]string{s.Template}).Get()
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
		if r := &page.Rows[i]; s.advance(r, now) {
			updates = append(updates, ScheduleUpdate{r, ScheduleColPosition})
		}
	}
	if len(updates) > 0 {
		err = tx.UpdateSchedules(updates)
	}
	return page.Last, err
}

// advance has a schedule checked earlier if it is due earlier. One that has no scheduled time
// any more, or that cannot be read, is left to the planner.
func (s ScheduleSweep) advance(r *ScheduleRow, now time.Time) bool {
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

package ledger

import "context"

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

// Schedules returns a page of schedules, as paused if their template is. See ScheduleFilter.
func (l *Ledger) Schedules(ctx context.Context, f ScheduleFilter) ([]Schedule, error) {
	return read(ctx, l, "list schedules", func(tx Tx) ([]Schedule, error) {
		rowsFuture, jobsFuture := tx.Schedules(f), tx.Jobs([]string{f.Template})
		rows, err := rowsFuture.Get()
		if err != nil {
			return nil, err
		}
		template, err := singleJob(jobsFuture)
		list := make([]Schedule, len(rows))
		for i := range rows {
			list[i] = rows[i].withPauseOf(template)
		}
		return list, err
	})
}

// Schedule returns the schedule with a job ID. With ErrNotFound, it returns what the ledger still
// has of a deleted one.
func (l *Ledger) Schedule(ctx context.Context, jobID string) (Schedule, error) {
	return read(ctx, l, "read schedule "+jobID, func(tx Tx) (Schedule, error) {
		rowsFuture, jobsFuture := tx.LockSchedules([]string{jobID}), tx.Jobs([]string{TemplateOf(jobID)})
		rows, err := rowsFuture.Get()
		if err == nil && len(rows) == 0 {
			err = ErrNotFound
		}
		switch {
		case err != nil:
			return Schedule{}, err
		case !rows[0].DeletedAt.IsZero():
			return rows[0].Schedule, ErrNotFound
		}
		template, err := singleJob(jobsFuture)
		return rows[0].withPauseOf(template), err
	})
}

// singleJob returns the job of a question about one; zero: the ledger does not know it.
func singleJob(jobsFuture Future[[]JobRow]) (JobRow, error) {
	rows, err := jobsFuture.Get()
	if len(rows) == 0 {
		return JobRow{}, err
	}
	return rows[0], err
}

// TemplateCount is the number of schedules of a template that have neither ended nor been deleted.
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

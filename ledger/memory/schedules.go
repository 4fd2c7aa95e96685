package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Jobs(ids []string) ledger.Future[[]ledger.JobRow] { return t.LockJobs(ids) }

func (t *tx) LockTemplate(name string) ledger.Future[ledger.TemplateRow] {
	row, known := t.l.templates[name]
	if !known {
		row = ledger.TemplateRow{ID: int64(len(t.l.templates) + 1), Name: name}
		putEntry(t, t.l.templates, name, row)
	}
	return ledger.ResolvedFuture(row, nil)
}

func (t *tx) Templates() ledger.Future[[]ledger.TemplateRow] {
	return ledger.ResolvedFuture(filteredValues(t.l.templates, func(ledger.TemplateRow) bool { return true }), nil)
}

func (t *tx) PutTemplate(row ledger.TemplateRow) error {
	putEntry(t, t.l.templates, row.Name, row)
	return nil
}

// scheduleRow returns a schedule with what its template has.
func (l *Ledger) scheduleRow(s ledger.ScheduleRow) ledger.ScheduleRow {
	s.PurgedThrough = l.templates[s.Template()].PurgedThrough
	return s
}

// schedulesBy returns the schedules that a condition selects, in an order.
func (l *Ledger) schedulesBy(is func(*ledger.ScheduleRow) bool, order func(a, b ledger.ScheduleRow) int) (list []ledger.ScheduleRow) {
	for _, s := range l.schedules {
		if is(&s) {
			list = append(list, l.scheduleRow(s))
		}
	}
	slices.SortFunc(list, order)
	return list
}

func byJobID(a, b ledger.ScheduleRow) int { return cmp.Compare(a.JobID, b.JobID) }

func (t *tx) LockSchedules(jobIDs []string) ledger.Future[[]ledger.ScheduleRow] {
	list := valuesOf(t.l.schedules, jobIDs)
	for i := range list {
		list[i] = t.l.scheduleRow(list[i])
	}
	return ledger.ResolvedFuture(list, nil)
}

func (t *tx) LockDueSchedules(template string, since time.Time, limit int) ledger.Future[[]ledger.ScheduleRow] {
	due := t.l.schedulesBy(func(s *ledger.ScheduleRow) bool {
		return s.Template() == template && !s.NextAt.IsZero() && !s.NextAt.After(t.now) && !s.NextAt.Before(since)
	}, func(a, b ledger.ScheduleRow) int { return cmp.Or(a.NextAt.Compare(b.NextAt), byJobID(a, b)) })
	return ledger.ResolvedFuture(due[:min(limit, len(due))], nil)
}

func (t *tx) FirstDue(templates []string, since time.Time) ledger.Future[map[string]time.Time] {
	first := map[string]time.Time{}
	for _, s := range t.l.schedules {
		template := s.Template()
		if at := first[template]; slices.Contains(templates, template) && !s.NextAt.IsZero() && !s.NextAt.Before(since) && (at.IsZero() || s.NextAt.Before(at)) {
			first[template] = s.NextAt
		}
	}
	return ledger.ResolvedFuture(first, nil)
}

func (t *tx) CountDue(by time.Time, limit int, held []string) ledger.Future[map[string]int] {
	counts := map[string]int{}
	for _, r := range t.l.due(by) {
		if slices.Contains(held, r.Call.Target) {
			continue
		}
		if limit--; limit < 0 {
			break
		}
		counts[ledger.TemplateOf(r.JobID)]++
	}
	return ledger.ResolvedFuture(counts, nil)
}

func (t *tx) Schedules(f ledger.ScheduleFilter) ledger.Future[[]ledger.ScheduleRow] {
	after, below := f.Bounds()
	list := t.l.schedulesBy(func(s *ledger.ScheduleRow) bool { return s.DeletedAt.IsZero() && s.JobID > after && s.JobID < below }, byJobID)
	return ledger.ResolvedFuture(list[:min(f.PageSize(), len(list))], nil)
}

func (t *tx) LockSchedulesAfter(template string, after int64, limit int) ledger.Future[ledger.SchedulePage] {
	all := t.l.schedulesBy(func(s *ledger.ScheduleRow) bool { return s.ID > after },
		func(a, b ledger.ScheduleRow) int { return cmp.Compare(a.ID, b.ID) })
	var page ledger.SchedulePage
	for _, s := range all[:min(limit, len(all))] {
		page.Last = s.ID
		if s.Template() == template && !s.NextAt.IsZero() {
			page.Rows = append(page.Rows, s)
		}
	}
	return ledger.ResolvedFuture(page, nil)
}

func (t *tx) InsertSchedules(list []ledger.ScheduleRow) ledger.Future[[]bool] {
	inserted := make([]bool, len(list))
	for i, s := range list {
		if _, known := t.l.schedules[s.JobID]; !known {
			t.l.lastSchedule++
			s.ID = t.l.lastSchedule
			putEntry(t, t.l.schedules, s.JobID, s)
			inserted[i] = true
		}
	}
	return ledger.ResolvedFuture(inserted, nil)
}

func (t *tx) UpdateSchedules(list []ledger.ScheduleUpdate) error {
	for _, u := range list {
		s, from := t.l.schedules[u.Row.JobID], u.Row
		if u.Set&ledger.ScheduleColPosition != 0 {
			s.Revision, s.Watermark, s.NextAt, s.EndedAt = from.Revision, from.Watermark, from.NextAt, from.EndedAt
		}
		if u.Set&ledger.ScheduleColContent != 0 {
			s.ScheduleContent, s.Generation, s.CreatedAt, s.DeletedAt = from.ScheduleContent, from.Generation, from.CreatedAt, from.DeletedAt
			s.ChangedAt, s.ChangedBy = from.ChangedAt, from.ChangedBy
		}
		if u.Set&ledger.ScheduleColPause != 0 {
			s.PausedAt, s.PausedBy, s.PausedWhy = from.PausedAt, from.PausedBy, from.PausedWhy
		}
		if u.Set&ledger.ScheduleColFailure != 0 {
			s.FailedAt = from.FailedAt
		}
		putEntry(t, t.l.schedules, s.JobID, s)
	}
	return nil
}

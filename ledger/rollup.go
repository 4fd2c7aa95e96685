package ledger

import (
	"context"
	"sort"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// HoursKept is the time after its start for which an hour's counts are kept: for a calendar of 90
// days. Those of purged runs are kept as long.
const HoursKept = 91 * 24 * time.Hour

const (
	// changesAfter is how long after its end a change of an hour's runs makes its counts
	// stale, and countAfter how long after its end it is counted. A transaction that has
	// read a clock before the first commits before the second.
	changesAfter = 5 * time.Minute
	countAfter   = 15 * time.Minute
	// recountAtOnce bounds the jobs of which one step counts an hour again.
	recountAtOnce = 50
	deleteAtOnce  = 5000
)

// countable returns the first hour that may not be counted yet.
func countable(now time.Time) time.Time { return hourOf(now.Add(-countAfter)) }

// RollUp takes one bounded step to count the hours that are over, and reports whether
// there may be another one. After the last, once a day, it counts the slowdowns of all jobs.
// Any process may call it at any time; several do no harm.
//
// An hour is counted once for all jobs, the newest first. What later changes a run of such
// an hour makes its job's counts stale in the same transaction (see ruleRows), and
// RollUp counts the job's runs of that hour again. A purge of runs keeps the counts of
// their hours: they then stay as they are, for HoursKept, even if one of the hour's other
// runs changes.
func (l *Ledger) RollUp(ctx context.Context) (more bool, err error) {
	todo, err := read(ctx, l, "look for hours to count", lookForHours)
	switch {
	case err != nil:
		return false, err
	case len(todo.stale) > 0:
		return write(ctx, l, "count an hour again", func(tx Tx) (bool, error) { return true, recount(tx, todo.stale[0].Hour) })
	case todo.span == todo.next:
		return false, l.countSlowdowns(ctx, todo.span, todo.now)
	}
	return write(ctx, l, "count an hour", func(tx Tx) (bool, error) { return true, todo.store(tx) })
}

// rollUp is one step: from the span of hours that are counted to the next. It is read without a
// lock, since to count an hour may take long, and is stored only if the span is still the same.
type rollUp struct {
	span, next HourSpan
	hour       time.Time // that is added; zero: none
	counts     []RunCount
	stale      []HourRow // the first of the span
	now        time.Time
}

// lookForHours returns the next step, with the counts of the hour that it adds.
func lookForHours(tx Tx) (todo rollUp, err error) {
	spanFuture, oldestFuture := tx.HourSpan(), tx.Runs(Filter{Limit: 1})
	todo.now, err = tx.Now()
	todo.span = take(&err, spanFuture)
	runs := take(&err, oldestFuture)
	if err != nil {
		return todo, err
	}
	todo.next = todo.span
	first := todo.now
	if len(runs) > 0 {
		first = runs[0].ScheduledAt
	}
	todo.hour = todo.next.extend(todo.now, first)
	staleFuture := tx.HoursIn(todo.span.From, todo.span.To, true, 1)
	if !todo.hour.IsZero() {
		if todo.counts, err = tx.Tally(TallyQuery{Since: todo.hour, Until: todo.hour.Add(time.Hour), ByJob: true}).Get(); err != nil {
			return todo, err
		}
	}
	todo.stale, err = staleFuture.Get()
	return todo, err
}

// extend adds one hour to the span, and returns it: the next hour, if it is over, else the hour
// before the span, if that is not before the oldest run. It takes off hours that are too old, or
// not over because the clock was set back.
func (s *HourSpan) extend(now, oldest time.Time) (hour time.Time) {
	end, first := countable(now), hourOf(now.Add(-HoursKept))
	s.From, s.To = clocks.Later(s.From, first), clocks.Earlier(s.To, end)
	if !s.From.Before(s.To) {
		*s = HourSpan{}
	}
	first = clocks.Later(first, hourOf(oldest))
	switch {
	case s.To.IsZero() && first.Before(end):
		s.From, s.To = end.Add(-time.Hour), end
		return s.From
	case s.To.IsZero():
	case s.To.Before(end):
		hour, s.To = s.To, s.To.Add(time.Hour)
	case first.Before(s.From):
		s.From = s.From.Add(-time.Hour)
		hour = s.From
	}
	return hour
}

// store writes the next span and the counts of its new hour, unless another process was
// faster. What has changed since it was counted is stale.
func (u *rollUp) store(tx Tx) error {
	spanFuture, rowsFuture := tx.HourSpan(), tx.HoursIn(u.hour, u.hour.Add(time.Hour), false, 0)
	span, err := spanFuture.Get()
	if err != nil || span != u.span {
		return err
	}
	rows, err := rowsFuture.Get()
	if err != nil {
		return err
	}
	if !u.hour.IsZero() {
		if err := u.storeHour(tx, rows); err != nil {
			return err
		}
	}
	if err := tx.PutHourSpan(u.next); err != nil {
		return err
	}
	return tx.DeleteHours(hourOf(u.now.Add(-HoursKept)), max(deleteAtOnce, 2*len(u.counts))) // more than an hour adds
}

// storeHour writes the counts of the new hour. The ledger may already have rows of it.
func (u *rollUp) storeHour(tx Tx, rows []HourRow) error {
	byJob := map[string]*Tally{}
	for _, c := range u.counts {
		if byJob[c.JobID] == nil {
			byJob[c.JobID] = &Tally{}
		}
		byJob[c.JobID].Add(c.tally())
	}
	for i := range rows {
		t := Tally{} // its runs are gone
		if rows[i].Purged {
			var err error
			if t, err = decodeTally(rows[i].Counts); err != nil {
				return err
			}
		} else if byJob[rows[i].JobID] != nil {
			continue
		}
		byJob[rows[i].JobID] = &t
	}
	return putHour(tx, u.hour, byJob)
}

// putHour writes the counts of jobs, and their sum.
func putHour(tx Tx, hour time.Time, byJob map[string]*Tally) (err error) {
	sum := &Tally{}
	delete(byJob, "")
	for _, t := range byJob {
		sum.Add(*t)
	}
	byJob[""] = sum
	rows := make([]HourRow, 0, len(byJob))
	for job, t := range byJob {
		r := HourRow{HourKey: HourKey{hour, job}}
		if r.Counts, err = t.encode(); err != nil {
			return err
		}
		rows = append(rows, r)
	}
	sort.Slice(rows, func(i, k int) bool { return rows[i].JobID < rows[k].JobID })
	return tx.PutHours(rows)
}

// recount counts an hour again of the jobs whose runs have changed, at most recountAtOnce of them,
// and corrects the sum of all jobs.
func recount(tx Tx, hour time.Time) error {
	end := hour.Add(time.Hour)
	totalFuture, staleFuture := tx.StoredHours([]string{""}, hour, end), tx.HoursIn(hour, end, true, recountAtOnce)
	templatesFuture := tx.Templates()
	total, err := totalFuture.Get()
	if err != nil {
		return err
	}
	stale, err := staleFuture.Get()
	if err != nil {
		return err
	}
	templates, err := templatesFuture.Get()
	if err != nil {
		return err
	}
	sum := HourRow{HourKey: HourKey{Hour: hour}}
	if len(total) > 0 {
		sum = total[0]
	}
	t, err := decodeTally(sum.Counts)
	if err != nil {
		return err
	}
	var keys []HourKey
	var countsFutures []Future[[]RunCount]
	for _, h := range stale {
		q := TallyQuery{JobID: h.JobID, Since: hour, Until: end, Template: isTemplate(templates, h.JobID)}
		countsFutures = append(countsFutures, tx.Tally(q))
		keys = append(keys, h.HourKey)
	}
	for i := range stale {
		if err := stale[i].replace(countsFutures[i], &t); err != nil {
			return err
		}
	}
	if sum.Counts, err = t.encode(); err != nil {
		return err
	}
	if err := tx.PutHours(append([]HourRow{sum}, stale...)); err != nil {
		return err
	}
	return tx.FlagHours(keys, HourNotStale)
}

// replace replaces the counts of a row, and in the sum of all jobs takes off the old ones and adds
// the new.
func (h *HourRow) replace(countsFuture Future[[]RunCount], sum *Tally) error {
	counts, err := countsFuture.Get()
	if err != nil {
		return err
	}
	old, err := decodeTally(h.Counts)
	if err != nil {
		return err
	}
	var updated Tally
	for _, c := range counts {
		updated.Add(c.tally())
	}
	sum.add(old, -1)
	sum.Add(updated)
	h.Counts, err = updated.encode()
	return err
}

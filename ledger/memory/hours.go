package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) HourSpan() ledger.Future[ledger.HourSpan] { return ledger.ResolvedFuture(t.l.span, nil) }

func (t *tx) PutHourSpan(s ledger.HourSpan) error {
	setValue(t, &t.l.span, s)
	return nil
}

func (t *tx) Slowdowns() ledger.Future[string] { return ledger.ResolvedFuture(t.l.slowdowns, nil) }

func (t *tx) PutSlowdowns(text string) error {
	setValue(t, &t.l.slowdowns, text)
	return nil
}

func (t *tx) StoredHours(jobIDs []string, since, until time.Time) ledger.Future[[]ledger.HourRow] {
	rows := t.hours(func(h ledger.HourRow) bool { return slices.Contains(jobIDs, h.JobID) && isWithin(h, since, until) })
	return ledger.ResolvedFuture(rows, nil)
}

func (t *tx) HourSums(jobIDs []string, since, until time.Time, marks [2]string) ledger.Future[[]ledger.HourSum] {
	var sums []ledger.HourSum
	for _, h := range t.hours(func(h ledger.HourRow) bool {
		return slices.Contains(jobIDs, h.JobID) && isWithin(h, since, until) && !h.Stale
	}) {
		for _, m := range marks {
			h.Counts, _, _ = strings.Cut(h.Counts, m)
		}
		sums = append(sums, ledger.HourSum{Hour: h.Hour, Counts: h.Counts, Rows: 1})
	}
	return ledger.ResolvedFuture(sums, nil)
}

func (t *tx) HoursIn(since, until time.Time, stale bool, limit int) ledger.Future[[]ledger.HourRow] {
	rows := t.hours(func(h ledger.HourRow) bool { return isWithin(h, since, until) && (h.Stale || !stale) })
	if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	return ledger.ResolvedFuture(rows, nil)
}

func isWithin(h ledger.HourRow, since, until time.Time) bool {
	return !h.Hour.Before(since) && h.Hour.Before(until)
}

// hours returns rows by time, then job.
func (t *tx) hours(match func(ledger.HourRow) bool) []ledger.HourRow {
	var rows []ledger.HourRow
	for _, h := range t.l.hours {
		if match(h) {
			rows = append(rows, h)
		}
	}
	slices.SortFunc(rows, func(a, b ledger.HourRow) int { return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.JobID, b.JobID)) })
	return rows
}

func (t *tx) PutHours(rows []ledger.HourRow) error {
	for _, h := range rows {
		is := t.l.hours[h.HourKey]
		is.HourKey, is.Counts = h.HourKey, h.Counts
		putEntry(t, t.l.hours, h.HourKey, is)
	}
	return nil
}

func (t *tx) FlagHours(keys []ledger.HourKey, flag ledger.HourFlag) error {
	for _, k := range keys {
		h, found := t.l.hours[k]
		h.HourKey = k
		switch {
		case flag == ledger.HourStale && !h.Purged:
			h.Stale = true
		case flag == ledger.HourNotStale && found:
			h.Stale = false
		case flag == ledger.HourPurged && found && !h.Stale:
			h.Purged = true
		default:
			continue
		}
		putEntry(t, t.l.hours, k, h)
	}
	return nil
}

func (t *tx) DeleteHours(before time.Time, limit int) error {
	old := t.hours(func(h ledger.HourRow) bool { return h.Hour.Before(before) })
	for _, h := range old[:min(limit, len(old))] {
		deleteEntry(t, t.l.hours, h.HourKey)
	}
	return nil
}

// Tally counts runs, each for itself.
func (t *tx) Tally(q ledger.TallyQuery) ledger.Future[[]ledger.RunCount] {
	var counts []ledger.RunCount
	for _, r := range t.l.runs {
		id := r.JobID
		if q.ByJob || q.Template {
			id = ledger.RegistryJobID(id)
		}
		if r.Parent != "" || r.ScheduledAt.Before(q.Since) || !r.ScheduledAt.Before(q.Until) || q.JobID != "" && id != q.JobID {
			continue
		}
		c := ledger.CountRow(&r.Row)
		if c.JobID = id; q.Template || !q.ByJob && q.JobID == "" {
			c.JobID = ""
		}
		if q.States {
			c.Late, c.Took, c.Sum = ledger.NoBucket, ledger.NoBucket, 0
		}
		counts = append(counts, c)
	}
	return ledger.ResolvedFuture(counts, nil)
}

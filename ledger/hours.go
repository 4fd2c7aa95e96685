package ledger

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// Hour has the counts of the runs that were scheduled in one hour.
type Hour struct {
	Start time.Time // UTC
	Tally
}

// Hours returns what became of the runs that were scheduled in the hours of [since,
// until), of a job, or of all jobs if jobID is "". It has the oldest hour first, and
// leaves out hours without a run. It is exact: what RollUp has not counted is counted
// from the runs.
func (l *Ledger) Hours(ctx context.Context, jobID string, since, until time.Time) ([]Hour, error) {
	return l.SumHours(ctx, []string{jobID}, since, until)
}

// SumHours returns the Hours of several jobs together. Of more than 20, it has the counts by state
// alone.
func (l *Ledger) SumHours(ctx context.Context, jobIDs []string, since, until time.Time) ([]Hour, error) {
	return read(ctx, l, "count hours", func(tx Tx) ([]Hour, error) {
		r := hourReader{tx: tx, jobIDs: sortedSet(jobIDs), since: hourOf(since), until: hourOf(until.Add(time.Hour - 1)),
			sums: map[time.Time]*Tally{}}
		if err := r.read(); err != nil {
			return nil, err
		}
		return r.hours(), nil
	})
}

// CountedFrom returns the first hour that RollUp has counted, while it has earlier ones to
// count, the newest first; else the zero time. To count all of a large ledger's runs takes
// minutes after an upgrade, and a reader who does not wait asks for the hours from then on.
func (l *Ledger) CountedFrom(ctx context.Context) (time.Time, error) {
	return read(ctx, l, "look which hours are counted", func(tx Tx) (from time.Time, err error) {
		spanFuture, oldestFuture := tx.HourSpan(), tx.Runs(Filter{Limit: 1})
		now, err := tx.Now()
		if err != nil {
			return from, err
		}
		span, err := spanFuture.Get()
		if err != nil {
			return from, err
		}
		runs, err := oldestFuture.Get()
		if err != nil || len(runs) == 0 {
			return from, err
		}
		from = span.From
		if !span.From.Before(span.To) {
			from = countable(now)
		}
		if first := clocks.Later(hourOf(now.Add(-HoursKept)), hourOf(runs[0].ScheduledAt)); !first.Before(from) {
			return time.Time{}, nil
		}
		return from, nil
	})
}

// hourReader adds up the counts of hours in one transaction: those that RollUp has stored, and for
// the rest those of the runs themselves.
type hourReader struct {
	tx           Tx
	jobIDs       []string // "" is all
	since, until time.Time
	sums         map[time.Time]*Tally
	row          Tally // of the last row that was added to others
}

// maxDetailedJobs is the number of jobs up to which runs are counted one by one, and their times
// read.
const maxDetailedJobs = 20

func (r *hourReader) manyJobs() bool { return len(r.jobIDs) > maxDetailedJobs }

// read adds the stored rows of the hours that are counted, and counts the others: those
// before and after them, and those of jobs whose runs have changed since.
func (r *hourReader) read() error {
	spanFuture, rowsFutures, templatesFuture := r.tx.HourSpan(), r.queryRows(), r.tx.Templates()
	var sumsFuture Future[[]HourSum]
	if r.manyJobs() {
		sumsFuture = r.tx.HourSums(r.jobIDs, r.since, r.until, timesInTally)
	}
	now, err := r.tx.Now()
	counted, templates := take(&err, spanFuture), take(&err, templatesFuture)
	if err != nil {
		return err
	}
	from, to := counted.within(r.since, r.until, now)
	stale, err := r.addStored(rowsFutures, from, to)
	if err != nil {
		return err
	}
	if err := r.addSums(sumsFuture, from, to); err != nil {
		return err
	}
	queries := append(mergeAdjoining(stale), r.uncounted(from, to)...)
	for i := range queries {
		queries[i].Template = isTemplate(templates, queries[i].JobID)
	}
	return r.count(queries)
}

// queryRows asks for the rows of the jobs; of many, for the stale ones. The sum of all jobs has
// what is stale: it is taken off.
func (r *hourReader) queryRows() (futures []Future[[]HourRow]) {
	if !r.manyJobs() {
		futures = append(futures, r.tx.StoredHours(r.jobIDs, r.since, r.until))
	}
	if r.ofAllJobs() || r.manyJobs() {
		futures = append(futures, r.tx.HoursIn(r.since, r.until, true, 0))
	}
	return futures
}

// addStored adds the rows of hours in [from, to), and returns those that are stale.
func (r *hourReader) addStored(rowsFutures []Future[[]HourRow], from, to time.Time) (stale []HourRow, err error) {
	for _, future := range rowsFutures {
		rows, err := future.Get()
		if err != nil {
			return nil, err
		}
		for i := range rows {
			h, sign := &rows[i], 1
			if h.Hour.Before(from) || !h.Hour.Before(to) || r.manyJobs() && !r.selects(h.JobID) {
				continue
			}
			if h.Stale {
				stale = append(stale, *h)
				sign = -1
				if !r.ofAllJobs() {
					continue
				}
			}
			if err := r.add(h, sign); err != nil {
				return nil, err
			}
		}
	}
	return stale, nil
}

// addSums adds the counts of many jobs. The engine has cut each text before the first of
// timesInTally, which many jobs do not show: it lacks the ends of the objects that it is in.
func (r *hourReader) addSums(sumsFuture Future[[]HourSum], from, to time.Time) error {
	sums, err := sumsFuture.Get()
	for i := 0; i < len(sums) && err == nil; i++ {
		s := sums[i]
		if s.Hour.Before(from) || !s.Hour.Before(to) {
			continue
		}
		ends := strings.Repeat("}", strings.Count(s.Counts, "{")-strings.Count(s.Counts, "}"))
		if err = r.row.decode(s.Counts + ends); err == nil {
			r.addMany(s.Hour, r.row, s.Rows)
		}
	}
	return err
}

// addMany adds a number of the same counts, without times.
func (r *hourReader) addMany(hour time.Time, t Tally, n int) {
	t.Lateness, t.Durations, t.Took = nil, nil, 0
	r.tallyOf(hour).add(t, n)
}

// selects reports whether a job is one of those that the caller asked for.
func (r *hourReader) selects(jobID string) bool {
	_, wanted := slices.BinarySearch(r.jobIDs, jobID)
	return wanted
}

// uncounted returns what to count of the jobs outside of [from, to): of many jobs, it is faster
// to count all.
func (r *hourReader) uncounted(from, to time.Time) (queries []TallyQuery) {
	if r.manyJobs() && !slices.ContainsFunc(r.jobIDs, func(id string) bool { return TemplateOf(id) != "" }) {
		return []TallyQuery{{Since: r.since, Until: from, ByJob: true, States: true}, {Since: to, Until: r.until, ByJob: true, States: true}}
	}
	for _, id := range r.jobIDs {
		if TemplateOf(id) != "" { // the table has its template only
			queries = append(queries, TallyQuery{JobID: id, Since: r.since, Until: r.until})
			continue
		}
		queries = append(queries, TallyQuery{JobID: id, Since: r.since, Until: from}, TallyQuery{JobID: id, Since: to, Until: r.until})
	}
	return queries
}

// isTemplate reports whether a job ID is that of a template, whose counts have its schedules too.
func isTemplate(templates []TemplateRow, jobID string) bool {
	return slices.ContainsFunc(templates, func(t TemplateRow) bool { return t.Name == jobID })
}

func (r *hourReader) ofAllJobs() bool { return slices.Equal(r.jobIDs, []string{""}) }

// within returns the part of the span that is in [since, until), and over.
func (s HourSpan) within(since, until, now time.Time) (from, to time.Time) {
	from, to = clocks.Later(s.From, since), clocks.Earlier(clocks.Earlier(s.To, until), countable(now))
	if !from.Before(to) {
		return since, since
	}
	return from, to
}

// add adds the counts of a row, or takes them off.
func (r *hourReader) add(h *HourRow, sign int) error {
	hour := h.Hour.UTC()
	if sign > 0 && r.sums[hour] == nil { // usual of one job; spares a copy
		t, err := decodeTally(h.Counts)
		r.sums[hour] = &t
		return err
	}
	err := r.row.decode(h.Counts)
	r.tallyOf(hour).add(r.row, sign)
	return err
}

// tallyOf returns the sum of an hour, which begins empty.
func (r *hourReader) tallyOf(hour time.Time) *Tally {
	hour = hour.UTC()
	if r.sums[hour] == nil {
		r.sums[hour] = &Tally{}
	}
	return r.sums[hour]
}

// count counts runs from their rows.
func (r *hourReader) count(queries []TallyQuery) error {
	queries = slices.DeleteFunc(queries, func(q TallyQuery) bool { return !q.Since.Before(q.Until) })
	countsFutures := make([]Future[[]RunCount], len(queries))
	for i, q := range queries {
		countsFutures[i] = r.tx.Tally(q)
	}
	for i, future := range countsFutures {
		counts, err := future.Get()
		if err != nil {
			return err
		}
		for _, c := range counts {
			switch {
			case queries[i].ByJob && !r.selects(c.JobID):
			case r.manyJobs():
				r.addMany(c.Hour, c.tally(), 1)
			default:
				r.tallyOf(c.Hour).Add(c.tally())
			}
		}
	}
	return nil
}

// hours returns the hours that have runs, the oldest first.
func (r *hourReader) hours() (list []Hour) {
	for start, t := range r.sums {
		if !t.empty() {
			list = append(list, Hour{start, *t})
		}
	}
	sort.Slice(list, func(i, k int) bool { return list[i].Start.Before(list[k].Start) })
	return list
}

// mergeAdjoining returns what to count for rows: a job's adjoining hours together.
func mergeAdjoining(rows []HourRow) (queries []TallyQuery) {
	sort.Slice(rows, func(i, k int) bool {
		a, b := rows[i], rows[k]
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), a.Hour.Compare(b.Hour)) < 0
	})
	for i := range rows {
		q := TallyQuery{JobID: rows[i].JobID, Since: rows[i].Hour, Until: rows[i].Hour.Add(time.Hour)}
		if n := len(queries); n > 0 && queries[n-1].JobID == q.JobID && queries[n-1].Until.Equal(q.Since) {
			queries[n-1].Until = q.Until
		} else {
			queries = append(queries, q)
		}
	}
	return queries
}

func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

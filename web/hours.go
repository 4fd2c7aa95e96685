package web

import (
	"context"
	"net/http"
	"time"

	"github.com/cronce/cronce/ledger"
)

// spanOf returns the span of a page's charts of hours: its name in the address, and its hours. Any other text in the
// address is 24 hours.
func spanOf(r *http.Request) (name string, hours int) {
	if r.URL.Query().Get("span") == "30d" {
		return "30d", 30 * 24
	}
	return "24h", 24
}

// chartBars is the number of bars in a chart of hours.
const chartBars = 24

// lastHours counts the runs of the last n hours of some jobs, "" being all, in chartBars parts of equal length, oldest
// first. uncounted is usually zero; otherwise earlier runs are left out, as to count them would take long.
func (d *Dashboard) lastHours(ctx context.Context, n int, jobIDs ...string) (bars []ledger.Hour, uncounted time.Time, err error) {
	end := d.now().Truncate(time.Hour).Add(time.Hour)
	first := end.Add(-time.Duration(n) * time.Hour)
	hours, uncounted, err := d.hoursAtHand(ctx, jobIDs, first, end)
	if err != nil {
		return nil, uncounted, err
	}
	length := end.Sub(first) / chartBars
	out := make([]ledger.Hour, chartBars)
	for i := range out {
		out[i].Start = first.Add(time.Duration(i) * length)
	}
	for _, h := range hours {
		out[h.Start.Sub(first)/length].Add(h.Tally)
	}
	return out, uncounted, nil
}

// countAtOnce is the number of runs that a page counts and the ledger has not counted yet: their
// rows are read, a few 100,000 a second. rowsAtOnce bounds the rows of counted hours: of many jobs
// together it shows the newest hours.
const (
	countAtOnce = 100_000
	rowsAtOnce  = 25_000
)

// hoursAtHand returns the counted hours from first to end. After an upgrade of a large ledger, it takes minutes until
// all are counted: until then it leaves out those before uncounted.
func (d *Dashboard) hoursAtHand(ctx context.Context, jobIDs []string, first, end time.Time) (hours []ledger.Hour, uncounted time.Time, err error) {
	// Of 1,000 jobs, 24 hours are 24,000 rows and 30 days 720,000: a page waits no longer for many jobs.
	if newest := end.Add(-time.Duration(max(rowsAtOnce/len(jobIDs), 1)) * time.Hour); first.Before(newest) {
		first, uncounted = newest, newest
	}
	from := first
	if aDay := end.Add(-day); first.Before(aDay) {
		if from, err = d.Ledger.CountedFrom(ctx); err != nil {
			return nil, uncounted, err
		}
		if aDay.Before(from) {
			from = aDay
		}
	}
	if !from.After(first) {
		hours, err = d.Ledger.SumHours(ctx, jobIDs, first, end)
		return hours, uncounted, err
	}
	if hours, err = d.Ledger.SumHours(ctx, jobIDs, from, end); err != nil {
		return nil, uncounted, err
	}
	// The hours before from are counted from their runs: about as many as the counted hours have.
	if runs := countRuns(hours); float64(runs)*float64(from.Sub(first))/float64(end.Sub(from)) > countAtOnce {
		return hours, from, nil
	}
	earlier, err := d.Ledger.SumHours(ctx, jobIDs, first, from)
	return append(earlier, hours...), uncounted, err
}

func countRuns(hours []ledger.Hour) (n int) {
	for _, h := range hours {
		for _, count := range h.Counts {
			n += count
		}
	}
	return n
}

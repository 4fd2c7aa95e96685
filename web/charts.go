package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// Charts are drawn in a box of 1000 by 100 that the style stretches; lines keep
// their width. Their words stand beside them in HTML.
const (
	chartWidth  = 1000.0
	chartHeight = 100.0
)

// bar is one rectangle of a chart.
type bar struct {
	Class      string
	X, Y, W, H float64
	Title      string
	Link       string
}

// throughput has the bars of what became of the scheduled times of each hour.
type throughput struct {
	Bars                 []bar
	Total, OK, Dead, Not int // Not: skipped, missed, superseded, canceled
	Most                 int // of an hour
	From                 time.Time
	Label                string
}

// newThroughput stacks the bars of each hour: those that succeeded at the bottom, dead ones on top.
func newThroughput(hours []ledger.Hour, now clock) (t throughput) {
	for _, h := range hours {
		ok, dead, not, all := outcomes(h.ByState())
		t.OK, t.Dead, t.Not, t.Total = t.OK+ok, t.Dead+dead, t.Not+not, t.Total+all
		t.Most = max(t.Most, all)
	}
	if len(hours) > 0 {
		t.From = hours[0].Start
	}
	width := chartWidth / float64(max(len(hours), 1))
	for i, h := range hours {
		ok, dead, not, all := outcomes(h.ByState())
		y := chartHeight
		title := fmt.Sprintf("%s: %s", now.format(h.Start, "2 Jan 15:04 MST"), counted(all, "scheduled time"))
		if all > 0 {
			title += fmt.Sprintf("; %s succeeded, %s dead, %s not run", thousands(ok), thousands(dead), thousands(not))
		}
		for _, part := range []struct {
			class string
			n     int
		}{{"ok", ok}, {"other", all - ok - dead}, {"dead", dead}} {
			if part.n == 0 {
				continue
			}
			height := max(float64(part.n)/float64(max(t.Most, 1))*chartHeight, 1.5) // one dead run of 10,000 is seen
			y -= height
			t.Bars = append(t.Bars, bar{Class: part.class, X: round(float64(i)*width + width*0.12), Y: round(max(y, 0)), W: round(width * 0.76),
				H: round(height), Title: title})
		}
	}
	t.Label = fmt.Sprintf("Scheduled times by hour: %s in all, %s succeeded, %s dead, %s not run", thousands(t.Total), thousands(t.OK),
		thousands(t.Dead), thousands(t.Not))
	return t
}

// outcomes sums counts up to four numbers: succeeded, dead, not run by a rule or an operator, and all. The first three
// are less than the last if runs are unfinished.
func outcomes(counts map[ledger.State]int) (ok, dead, not, all int) {
	for s, n := range counts {
		all += n
		switch s {
		case ledger.Succeeded:
			ok += n
		case ledger.Dead:
			dead += n
		case ledger.Skipped, ledger.Missed, ledger.Superseded, ledger.Canceled:
			not += n
		}
	}
	return ok, dead, not, all
}

// quantiles is a line for each of the p50, p95 and p99 of every hour, on a
// logarithmic scale, and those of all hours together.
type quantiles struct {
	Lines       []quantileLine
	Top, Bottom time.Duration // the scale's ends
	N           int           // of runs
	Label       string        // the chart in a sentence, for screen readers
}

// quantileLine is the line of one quantile, as SVG path data.
type quantileLine struct {
	Class, D string
	All      time.Duration // of all hours together
}

// trend is the chart of a job's durations by day.
type trend struct {
	quantiles
	// Slowdown compares the last week with that of four weeks before; "": too few runs.
	Slowdown string
}

// newTrend sums hours up by day, so that days without a run, which have no hour, keep their places.
func newTrend(days []oneDay, hours []ledger.Hour, now time.Time) trend {
	all := make([]ledger.Hour, len(days))
	for i, d := range days {
		all[i].Start = d.Start
	}
	for _, h := range operations.Days(hours) {
		if i := int(h.Start.Sub(days[0].Start) / day); i >= 0 && i < len(all) {
			all[i] = h
		}
	}
	t := trend{quantiles: newQuantiles("Durations by day", all, func(t ledger.Tally) ledger.Histogram { return t.Durations })}
	if slower := ledger.Slowdown(hours, now); slower > 0 {
		t.Slowdown = times(slower)
	}
	return t
}

// times writes a factor with two digits: "1.8×".
func times(factor float64) string { return strconv.FormatFloat(factor, 'g', 2, 64) + "×" }

// newQuantiles draws the quantiles of a histogram of each hour. An hour without runs has none, so
// the line ends before it and begins again after it: a line through it would show durations that
// nothing had.
func newQuantiles(what string, hours []ledger.Hour, histogram func(ledger.Tally) ledger.Histogram) quantiles {
	all := ledger.Histogram{}
	for _, h := range hours {
		all.Add(histogram(h.Tally))
	}
	q := quantiles{N: all.Total()}
	if q.N == 0 {
		q.Label = what + ": no run yet"
		return q
	}
	q.Label = fmt.Sprintf("%s of %s: median %s, 95th percentile %s, 99th percentile %s", what, counted(q.N, "run"),
		short(all.Quantile(.5)), short(all.Quantile(.95)), short(all.Quantile(.99)))
	shares := []struct {
		class string
		q     float64
	}{{"p50", .5}, {"p95", .95}, {"p99", .99}}
	q.Top, q.Bottom = 0, math.MaxInt64
	for _, h := range hours {
		if hist := histogram(h.Tally); len(hist) > 0 {
			q.Top, q.Bottom = max(q.Top, hist.Quantile(.99)), min(q.Bottom, hist.Quantile(.5))
		}
	}
	q.Top, q.Bottom = q.Top*5/4, q.Bottom*3/4 // the lines keep off the edges, where a stroke would be cut in half
	for _, s := range shares {
		var d strings.Builder
		pen := "M"
		for i, h := range hours {
			hist := histogram(h.Tally)
			if len(hist) == 0 {
				pen = "M"
				continue
			}
			x := (float64(i) + 0.5) * chartWidth / float64(len(hours))
			fmt.Fprintf(&d, "%s%g %g", pen, round(x), round(q.y(hist.Quantile(s.q))))
			if pen == "M" {
				d.WriteString("h.1") // a point by itself is seen
			}
			pen = "L"
		}
		q.Lines = append(q.Lines, quantileLine{s.class, d.String(), all.Quantile(s.q)})
	}
	return q
}

// y returns the position of a duration on the scale.
func (q quantiles) y(d time.Duration) float64 {
	return chartHeight * (1 - logShare(d, 2*q.Bottom, q.Top))
}

// logShare returns the position of d between half of the least and the most, 0 to 1. The scale is logarithmic, as runs
// of milliseconds and of hours are in one chart. It begins at half of the least, so that bars have a height if all
// durations are the same.
func logShare(d, least, most time.Duration) float64 {
	low, high := math.Log(float64(max(least/2, 1))), math.Log(float64(max(most, 2)))
	return min(max((math.Log(float64(max(d, 1)))-low)/max(high-low, 1e-9), 0), 1)
}

// durationBars are the durations of a job's last runs, oldest first.
type durationBars struct {
	Bars     []bar
	Most     time.Duration // the scale is logarithmic, from half of the least
	Least    time.Duration
	P50, P95 time.Duration
	N        int
	Label    string
}

// newDurationBars draws the durations of the runs that succeeded. cells come newest first, so bars are placed from
// right to left.
func newDurationBars(cells []ledger.RunSummary, now clock) durationBars {
	d := durationBars{Least: math.MaxInt64}
	done, hist := succeeded(cells)
	for _, c := range done {
		took := c.FinishedAt.Sub(c.StartedAt)
		d.Most, d.Least = max(d.Most, took), min(d.Least, took)
	}
	d.N, d.P50, d.P95 = len(done), hist.Quantile(.5), hist.Quantile(.95)
	width := chartWidth / float64(max(len(done), 30)) // three runs are three narrow bars, not three walls
	for i, c := range done {
		took := c.FinishedAt.Sub(c.StartedAt)
		height := max(chartHeight*logShare(took, d.Least, d.Most), 4)
		d.Bars = append(d.Bars, bar{
			Class: "ok", X: round(chartWidth - float64(i+1)*width + width*.1), Y: round(chartHeight - height), W: round(width * .8),
			H:     round(height),
			Title: fmt.Sprintf("%s: %s", now.format(c.ScheduledAt, "2 Jan 15:04:05 MST"), short(took)),
		})
	}
	d.Label = fmt.Sprintf("Durations of the last %s that succeeded: median %s, 95th percentile %s, longest %s", counted(d.N, "run"),
		short(d.P50), short(d.P95), short(d.Most))
	return d
}

// round keeps one decimal, which is finer than a pixel: a page may have thousands of coordinates.
func round(f float64) float64 { return math.Round(f*10) / 10 }

// p95 is the 95th percentile of the durations of the cells that succeeded.
func p95(cells []ledger.RunSummary) (time.Duration, bool) {
	_, hist := succeeded(cells)
	return hist.Quantile(.95), len(hist) > 0
}

// succeeded returns the cells of runs that succeeded, and the histogram of their durations. Those of
// dead runs would tell of timeouts, not of the work.
func succeeded(cells []ledger.RunSummary) (done []ledger.RunSummary, durations ledger.Histogram) {
	for _, c := range cells {
		if c.State == ledger.Succeeded && !c.StartedAt.IsZero() {
			done = append(done, c)
			durations.Count(ledger.HistogramBucket(c.FinishedAt.Sub(c.StartedAt)), 1)
		}
	}
	return done, durations
}

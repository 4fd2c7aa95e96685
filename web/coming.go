package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// coming has what is due in the next hour: the number of scheduled times in each minute, and the first of them.
type coming struct {
	Bars  []bar
	Total int
	First []comingRun
	From  time.Time
	Label string
	More  int
}

// comingRun is the first run of a job in the next hour. At has the time at which it starts, after the spread.
type comingRun struct {
	Job string
	At  time.Time
}

// comingHour returns the scheduled times of the next 60 minutes. It looks at the registry's jobs that
// take accepts, and leaves out the times in a pause.
func (d *Dashboard) comingHour(states []ledger.JobState, pauses []ledger.Pause, take func(jobs.Job) bool) coming {
	paused := map[string]bool{}
	for _, s := range states {
		paused[s.JobID] = !s.PausedAt.IsZero()
	}
	next := coming{From: d.now()}
	var minutes [60]int
	for _, j := range d.registry().All() {
		if !j.Disabled && !paused[j.ID] && take(j) {
			next.add(j, pauses, &minutes)
		}
	}
	slices.SortFunc(next.First, func(a, b comingRun) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Job, b.Job)) })
	if len(next.First) > 6 {
		next.First, next.More = next.First[:6], len(next.First)-6
	}
	next.Bars = minuteBars(minutes)
	next.Label = "The next 60 minutes: " + counted(next.Total, "scheduled time")
	return next
}

// add counts the minutes in which a job's runs start, one by one as long as they are few.
func (c *coming) add(j jobs.Job, pauses []ledger.Pause, minutes *[60]int) {
	end := c.From.Add(time.Hour)
	first := operations.NextRun(pauses, j, c.From)
	start := j.DueAt(first)
	if first.IsZero() || !start.Before(end) {
		return
	}
	c.First = append(c.First, comingRun{j.ID, start})
	s := j.ParsedSchedule()
	if s.Count(c.From, end) > len(minutes) {
		for m := range minutes {
			from := c.From.Add(time.Duration(m) * time.Minute)
			n := countOutside(pauses, j, from, from.Add(time.Minute))
			minutes[m] += n
			c.Total += n
		}
		return
	}
	for t := first; !t.IsZero() && j.DueAt(t).Before(end); t = s.Next(t) {
		if pause, _ := operations.Paused(pauses, j, t); pause == nil {
			minutes[int(j.DueAt(t).Sub(c.From)/time.Minute)]++
			c.Total++
		}
	}
}

// countOutside counts a job's scheduled times after a time, up to another, without those in a pause.
// It counts the stretches between the pauses as a whole: a job that is due every second has 3,600
// times in an hour, and there may be many such jobs.
func countOutside(pauses []ledger.Pause, j jobs.Job, after, through time.Time) (n int) {
	for after.Before(through) {
		second := after.Truncate(time.Second).Add(time.Second) // the first one that counts
		if pause, _ := operations.Paused(pauses, j, second); pause != nil {
			after = pause.Until.Add(-time.Second) // the end of a pause is not in it
			continue
		}
		upTo := through // or the last second before the next pause begins
		for _, p := range pauses {
			if p.From.After(second) && p.From.Add(-time.Second).Before(upTo) {
				upTo = p.From.Add(-time.Second)
			}
		}
		n += j.ParsedSchedule().Count(after, upTo)
		after = upTo
	}
	return n
}

// minuteBars draws a bar for each minute in which a scheduled time is due.
func minuteBars(minutes [60]int) (bars []bar) {
	most := slices.Max(minutes[:])
	width := chartWidth / 60
	for m, n := range minutes {
		if n == 0 {
			continue
		}
		height := max(chartHeight*float64(n)/float64(most), 6)
		bars = append(bars, bar{
			Class: "next", X: round(float64(m)*width + width*.15), Y: round(chartHeight - height), W: round(width * .7), H: round(height),
			Title: fmt.Sprintf("in %d min: %s", m, counted(n, "scheduled time")),
		})
	}
	return bars
}

// comingTime is a scheduled time to come, with what the local clock does before it.
type comingTime struct {
	At     time.Time
	Local  string
	Change string
	Start  time.Time // by the job's spread; zero: at that time
}

// comingTimesOf returns the next scheduled times of a job. A time that comes after a change of the local clock has a
// note of it.
func comingTimesOf(j jobs.Job, now time.Time) (list []comingTime) {
	s := j.ParsedSchedule()
	before := now.In(s.Location())
	for at := j.NextRun(now); !at.IsZero() && len(list) < comingTimes; at = s.Next(at) {
		local := at.In(s.Location())
		coming := comingTime{At: at, Local: local.Format("Mon 2 Jan " + clockLayout(at)), Change: clockChange(before, local)}
		if j.Spread > 0 {
			coming.Start = j.DueAt(at)
		}
		list = append(list, coming)
		before = local
	}
	return list
}

// atClockChange returns the last scheduled time before the zone's next clock change within a year,
// and the first one after it; none where the clocks stay. Zones do not tell their next change, so
// it looks at each hour of the year.
func atClockChange(j jobs.Job, now time.Time) []comingTime {
	s := j.ParsedSchedule()
	_, was := now.In(s.Location()).Zone()
	for t := now.Truncate(time.Hour); t.Before(now.AddDate(1, 0, 0)); t = t.Add(time.Hour) {
		if _, is := t.In(s.Location()).Zone(); is == was {
			continue
		}
		before, after := s.Last(t.Add(-time.Second)), s.Next(t.Add(-time.Second))
		if after.IsZero() || !before.After(now) {
			return nil
		}
		one, two := before.In(s.Location()), after.In(s.Location())
		return []comingTime{
			{At: before, Local: one.Format("Mon 2 Jan " + clockLayout(before))},
			{At: after, Local: two.Format("Mon 2 Jan " + clockLayout(after)), Change: clockChange(one, two)},
		}
	}
	return nil
}

// clockChange says how the local clock moved between two times, if it did.
func clockChange(before, after time.Time) string {
	_, was := before.Zone()
	_, is := after.Zone()
	switch d := time.Duration(is-was) * time.Second; {
	case d > 0:
		return "clocks go forward " + short(d)
	case d < 0:
		return "clocks go back " + short(-d)
	}
	return ""
}

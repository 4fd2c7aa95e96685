package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// coming is the next hour: how many scheduled times in each minute, and the first.
type coming struct {
	Bars  []bar
	Total int
	First []comingRun
	From  time.Time
	Label string
	More  int
}

type comingRun struct {
	Job string
	At  time.Time
}

// comingHour is what those of the registry's jobs that are taken and planned will do in 60
// minutes.
func (d *Dashboard) comingHour(states []ledger.JobState, take func(jobs.Job) bool) coming {
	now := d.now()
	paused := map[string]bool{}
	for _, s := range states {
		paused[s.JobID] = !s.PausedAt.IsZero()
	}
	next := coming{From: now}
	var minutes [60]int
	for _, j := range d.registry().All() {
		if j.Disabled || paused[j.ID] || !take(j) {
			continue
		}
		first := j.NextRun(now)
		start := j.DueAt(first)
		if first.IsZero() || !start.Before(now.Add(time.Hour)) {
			continue
		}
		next.First = append(next.First, comingRun{j.ID, start})
		next.Total += addMinutes(&minutes, j, first, now)
	}
	slices.SortFunc(next.First, func(a, b comingRun) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Job, b.Job)) })
	if len(next.First) > 6 {
		next.First, next.More = next.First[:6], len(next.First)-6
	}
	next.Bars = minuteBars(minutes)
	next.Label = "The next 60 minutes: " + counted(next.Total, "scheduled time")
	return next
}

// addMinutes counts the minutes from now in which a job's runs start, one by one as
// long as they are few.
func addMinutes(minutes *[60]int, j jobs.Job, first, now time.Time) (total int) {
	s := j.ParsedSchedule()
	end := now.Add(time.Hour)
	if s.Count(now, end) > len(minutes) {
		for m := range minutes {
			from := now.Add(time.Duration(m) * time.Minute)
			n := s.Count(from, from.Add(time.Minute))
			minutes[m] += n
			total += n
		}
		return total
	}
	for t := first; !t.IsZero() && j.DueAt(t).Before(end); t = s.Next(t) {
		minutes[int(j.DueAt(t).Sub(now)/time.Minute)]++
		total++
	}
	return total
}

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

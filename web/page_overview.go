package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

type overviewView struct {
	Health   health
	Dead     []deadGroup
	Coming   coming
	Hours    throughput
	Late     quantiles
	Span     string // "24h" or "30d"
	Now      time.Time
	Strips   []jobRow
	Running  int
	Accepted int
	Retries  int
	Jobs     int
}

func (d *Dashboard) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	v := overviewView{Now: d.now(), Span: "24h", Jobs: d.registry().Len()}
	hours := 24
	if r.URL.Query().Get("span") == "30d" {
		v.Span, hours = "30d", hoursKept
	}
	statuses, err := d.Ledger.Jobs(ctx)
	if err != nil {
		return view{}, err
	}
	timings, err := d.lastHours(ctx, hours, statuses)
	if err != nil {
		return view{}, err
	}
	if v.Health, err = d.health(ctx); err != nil {
		return view{}, err
	}
	v.Hours = newThroughput(groupHours(timings, hours/24))
	v.Late = newQuantiles("Lateness", groupHours(timings, hours/24), func(t ledger.Timings) ledger.Histogram { return t.Lateness })
	v.Hours.Known, v.Hours.Of = known(timings), len(timings)
	dead, err := d.Ledger.List(ctx, ledger.Filter{States: []ledger.State{ledger.Dead}, Unacked: true, Limit: 200})
	if err != nil {
		return view{}, err
	}
	v.Dead = groupDead(dead)
	if len(dead) == 200 && len(v.Dead) > 0 {
		v.Dead[len(v.Dead)-1].More = true
	}
	v.Dead = v.Dead[:min(len(v.Dead), 6)]
	for i, g := range v.Dead {
		v.Dead[i].Acts = d.deadActs(r, g.Job, g.Reason)
	}
	if v.Strips, err = d.overviewStrips(r, statuses); err != nil {
		return view{}, err
	}
	unfinished := v.Health.Counts.Unfinished
	v.Running, v.Accepted, v.Retries = unfinished[ledger.Running], unfinished[ledger.Accepted], unfinished[ledger.Retrying]
	v.Coming = d.comingHour(statuses)
	title := "All is well"
	if n := len(v.Health.Items); n > 0 {
		title = plural(n, "problem")
	}
	return view{Template: "overview", Title: title, Section: "Overview", Data: v}, nil
}

// stripsOnOverview is of how many jobs the overview shows the last runs.
const stripsOnOverview = 8

// overviewStrips are the jobs in trouble, then those that ran last.
func (d *Dashboard) overviewStrips(r *http.Request, statuses []ledger.JobStatus) ([]jobRow, error) {
	rows := d.jobRows(statuses)
	rows = slices.DeleteFunc(rows, func(row jobRow) bool {
		return row.State == "disabled" || row.State == "ended" || row.ID == jobs.PurgeJobID
	})
	urgency := func(row jobRow) int {
		switch {
		case row.State == "failing":
			return 0
		case row.Dead > 0:
			return 1
		case row.State == "paused":
			return 2
		}
		return 3
	}
	slices.SortStableFunc(rows, func(a, b jobRow) int {
		return cmp.Or(urgency(a)-urgency(b), lastTime(b).Compare(lastTime(a)))
	})
	rows = rows[:min(len(rows), stripsOnOverview)]
	return rows, d.addStrips(r, rows)
}

func lastTime(row jobRow) time.Time {
	if row.Last == nil {
		return time.Time{}
	}
	return row.Last.ScheduledAt
}

func known(hours []hourOf) (n int) {
	for _, h := range hours {
		if h.Known {
			n++
		}
	}
	return n
}

// groupHours joins each n hours into one.
func groupHours(hours []hourOf, n int) []hourOf {
	if n <= 1 {
		return hours
	}
	var out []hourOf
	for chunk := range slices.Chunk(hours, n) {
		one := hourOf{Start: chunk[0].Start, Known: true}
		one.Counts, one.Lateness, one.Durations = map[ledger.State]int{}, ledger.Histogram{}, ledger.Histogram{}
		for _, h := range chunk {
			one.Known = one.Known && h.Known
			for s, c := range h.Counts {
				one.Counts[s] += c
			}
			one.Lateness.Add(h.Lateness)
			one.Durations.Add(h.Durations)
		}
		out = append(out, one)
	}
	return out
}

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

// comingCache keeps what is coming: it is the same for a while.
type comingCache struct {
	mu     sync.Mutex
	at     time.Time
	of     *jobs.Registry
	coming coming
}

// comingHour is what the registry's jobs that are planned will do in 60 minutes.
func (d *Dashboard) comingHour(statuses []ledger.JobStatus) coming {
	c := &d.coming
	c.mu.Lock()
	defer c.mu.Unlock()
	now := d.now()
	if now.Sub(c.at) < 5*time.Second && c.of == d.registry() {
		return c.coming
	}
	paused := map[string]bool{}
	for _, s := range statuses {
		paused[s.JobID] = !s.PausedAt.IsZero()
	}
	next := coming{From: now}
	var minutes [60]int
	for i, j := range d.registry().All() {
		if j.Disabled || paused[j.ID] {
			continue
		}
		s := d.registry().Schedule(i)
		first := s.Next(now)
		if first.IsZero() || !first.Before(now.Add(time.Hour)) {
			continue
		}
		next.First = append(next.First, comingRun{j.ID, first})
		next.Total += addMinutes(&minutes, s, first, now)
	}
	slices.SortFunc(next.First, func(a, b comingRun) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Job, b.Job)) })
	if len(next.First) > 6 {
		next.First, next.More = next.First[:6], len(next.First)-6
	}
	next.Bars = minuteBars(minutes)
	next.Label = "The next 60 minutes: " + plural(next.Total, "scheduled time")
	c.at, c.of, c.coming = now, d.registry(), next
	return next
}

// addMinutes counts a schedule's times in the minutes from now, one by one as
// long as they are few.
func addMinutes(minutes *[60]int, s *schedule.Schedule, first, now time.Time) (total int) {
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
	for t := first; !t.IsZero() && t.Before(end); t = s.Next(t) {
		minutes[int(t.Sub(now)/time.Minute)]++
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
			Title: fmt.Sprintf("in %d min: %s", m, plural(n, "scheduled time")),
		})
	}
	return bars
}

package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var overviewCases = []testCase{
	{"Recent has the newest rows of each job, ranges too and ~ runs not", recentRows},
	{"Recent tells what became of a row, and when", recentFields},
	{"Recent looks back over a bounded number of rows", recentWindow},
	{"the days of a job add up to its scheduled times", daysAddUp},
	{"Days is bounded by time, and does not count neighboring jobs", daysBounded},
	{"Timings counts states, lateness of scheduled runs and durations of succeeded ones", timings},
	{"Timings count lateness from the end of a delay", timingsOfDelayed},
	{"Timings of another interval are empty", timingsElsewhere},
	{"Processes tells who lives, what they declare and what they run", processes},
}

func (b *bed) recent(n int, jobIDs ...string) map[string][]string {
	b.Helper()
	cells, err := b.Recent(b.ctx, jobIDs, n)
	b.must(err)
	ids := map[string][]string{}
	for job, mine := range cells {
		for _, c := range mine {
			ids[job] = append(ids[job], c.RunID)
		}
	}
	return ids
}

func recentRows(b *bed) {
	a, ab := b.job("a"), b.job("a-b") // "a-b@" sorts between "a" and "a@"
	a, ab = a.next(), ab.next()
	a.admit(a.planned(0, ledger.OverlapAllow), a.rangeOf(1, 3), a.planned(4, ledger.OverlapAllow))
	ab.admit(ab.planned(0, ledger.OverlapAllow))
	for i := range 5 {
		b.entered(a.besideAt(9, fmt.Sprint(i)))
	}
	want := map[string][]string{"a": {a.id(4), a.rangeID(1, 3), a.id(0)}, "a-b": {ab.id(0)}}
	if got := b.recent(30, "a", "a-b", "a", "nobody", "", "x\x00"); !maps.EqualFunc(got, want, slices.Equal) {
		b.Errorf("recent rows %v, want %v", got, want)
	}
	if got := b.recent(2, "a"); !slices.Equal(got["a"], want["a"][:2]) {
		b.Errorf("the newest two are %v, want %v", got, want["a"][:2])
	}
	for _, n := range []int{0, -1} {
		if got := b.recent(n, "a"); len(got) != 0 {
			b.Errorf("the newest %d are %v, want none", n, got)
		}
	}
	if got := b.recent(30); len(got) != 0 {
		b.Errorf("recent rows of no job: %v", got)
	}
}

func recentFields(b *bed) {
	j, w := b.started("j")
	b.pass(time.Minute)
	o := succeeded(w)
	o.Replayed = true
	b.record(o)
	j = j.next()
	j.admit(j.rangeOf(0, 2))
	cells, err := b.Recent(b.ctx, []string{"j"}, 2)
	b.must(err)
	if len(cells["j"]) != 2 {
		b.Fatalf("cells %+v, want two", cells)
	}
	for _, c := range cells["j"] {
		r := b.get(c.RunID)
		want := ledger.RunSummary{
			RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason,
			Replayed: r.Replayed, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		}
		if c != want {
			b.Errorf("cell %+v, want %+v", c, want)
		}
	}
}

func recentWindow(b *bed) {
	j := b.job("j")
	j.admit(j.missed(0))
	for i := range ledger.OutcomeWindow {
		e := j.besideAt(1, fmt.Sprintf("%04d", i))
		e.Lease = false
		b.entered(e)
	}
	if got := b.recent(1, "j"); len(got) != 0 {
		b.Errorf("found %v behind %d newer rows", got, ledger.OutcomeWindow)
	}
}

// sum adds up the scheduled times that the days and ranges stand for.
func sum(d ledger.Days) (n int) {
	for _, c := range d.Counts {
		n += c.Count
	}
	for _, r := range d.Ranges {
		n += r.Count
	}
	return n
}

// The job begins just before a midnight, where its first day is shortest.
func daysAddUp(b *bed) {
	now := time.Now().UTC()
	b.pass(now.Truncate(24 * time.Hour).Add(48*time.Hour - 50*time.Second).Sub(now))
	j := b.job("j")
	midnight := j.at(2).Truncate(24 * time.Hour).Add(24 * time.Hour) // two scheduled times or more after the first
	i := int(midnight.Sub(j.at(0)) / time.Minute)                    // the scheduled time at midnight
	b.pass(time.Until(midnight) + 2*time.Hour)
	j.admit(j.missed(i-2), j.missed(i-1), j.missed(i), j.rangeOf(i+1, i+5), j.planned(i+6, ledger.OverlapAllow))
	b.entered(j.besideAt(i+6, "x"))
	d, err := b.Days(b.ctx, "j", midnight.Add(-24*time.Hour), midnight.Add(24*time.Hour))
	b.must(err)
	want := []ledger.DayCount{
		{Day: midnight.Add(-24 * time.Hour), State: ledger.Missed, Count: 2},
		{Day: midnight, State: ledger.Missed, Count: 1},
		{Day: midnight, State: ledger.Planned, Count: 1},
	}
	if !slices.Equal(d.Counts, want) {
		b.Errorf("counts %+v, want %+v", d.Counts, want)
	}
	if len(d.Ranges) != 1 || d.Ranges[0].RunID != j.rangeID(i+1, i+5) || sum(d) != 9 {
		b.Errorf("ranges %+v and a sum of %d, want one range and 9", d.Ranges, sum(d))
	}
}

func daysBounded(b *bed) {
	j, k := b.job("j"), b.job("j.k")
	j, k = j.next(), k.next()
	j.admit(j.missed(0), j.missed(1), j.rangeOf(2, 5), j.missed(6), j.missed(7))
	k.admit(k.missed(0), k.missed(7))
	for name, c := range map[string]struct {
		jobID        string
		since, until time.Time
		want         int
	}{
		"all":                       {"j", j.at(0), j.at(8), 8},
		"from the second":           {"j", j.at(1), j.at(8), 7},
		"up to the last":            {"j", j.at(0), j.at(7), 7},
		"within the range":          {"j", j.at(3), j.at(4), 4},
		"a fraction of a second on": {"j", j.at(0).Add(time.Millisecond), j.at(1).Add(time.Millisecond), 1},
		"after all":                 {"j", j.at(8), j.at(9), 0},
		"backwards":                 {"j", j.at(8), j.at(6), 0},
		"the neighbor":              {"j.k", k.at(0), k.at(8), 2},
		"nobody's":                  {"nobody\x00", j.at(0), j.at(8), 0},
	} {
		d, err := b.Days(b.ctx, c.jobID, c.since, c.until)
		b.must(err)
		if got := sum(d); got != c.want {
			b.Errorf("%s: %+v with a sum of %d, want %d", name, d, got, c.want)
		}
	}
}

func timings(b *bed) {
	j := b.job("j")
	a := ledger.OverlapAllow
	got := j.admit(j.planned(0, a), j.leased(1, a), j.leased(2, a), j.rangeOf(3, 6))
	ws := got.Leased
	slices.SortFunc(ws, func(a, b ledger.Work) int { return a.ScheduledAt.Compare(b.ScheduledAt) })
	b.pass(10 * time.Minute)
	b.record(succeeded(ws[0]), dead(ws[1], ledger.ReasonExhausted))
	e := j.besideAt(2, "x")
	e.Trigger = ledger.ByOperator
	b.entered(e)

	got2, err := b.Timings(b.ctx, j.at(0), j.at(7))
	b.must(err)
	want := map[ledger.State]int{ledger.Planned: 2, ledger.Succeeded: 1, ledger.Dead: 1, ledger.Missed: 4}
	if !maps.Equal(got2.Counts, want) {
		b.Errorf("counts %v, want %v", got2.Counts, want)
	}
	if n := got2.Lateness.Total(); n != 2 {
		b.Errorf("%d latenesses, want those of the two scheduled runs that started: %v", n, got2.Lateness)
	}
	late := b.get(j.id(1)).StartedAt.Sub(j.at(1))
	if q := got2.Lateness.Quantile(1); q < late*9/10 || q > late*11/10 {
		b.Errorf("the longest lateness is %s, want about %s", q, late)
	}
	if q := got2.Durations.Quantile(0.5); got2.Durations.Total() != 1 || q < 9*time.Minute || q > 11*time.Minute {
		b.Errorf("durations %v with a median of %s, want about 10m", got2.Durations, q)
	}
}

func timingsOfDelayed(b *bed) {
	j := b.job("j")
	b.pass(20 * time.Minute)
	late, early, none := j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)
	late.Call.Delay, early.Call.Delay = 7*time.Minute+30*time.Second, 100*365*24*time.Hour
	none.Call.Headers = map[string]string{"delay": "600000000000"}
	j.admit(late, early, none)
	got, err := b.Timings(b.ctx, j.at(0), j.at(3))
	b.must(err)
	want := ledger.Histogram{}
	for i, delay := range []time.Duration{late.Call.Delay, early.Call.Delay, 0} {
		want[ledger.HistogramBucket(b.get(j.id(i)).StartedAt.Sub(j.at(i))-delay)]++
	}
	if !maps.Equal(got.Lateness, want) || want[ledger.HistogramBucket(0)] != 1 {
		b.Errorf("lateness %v, want %v", got.Lateness, want)
	}
}

func timingsElsewhere(b *bed) {
	j := b.job("j")
	j.admit(j.missed(0), j.missed(1))
	for _, interval := range [][2]time.Time{{j.at(2), j.at(9)}, {j.at(1), j.at(0)}} {
		got, err := b.Timings(b.ctx, interval[0], interval[1])
		b.must(err)
		if len(got.Counts)+len(got.Lateness)+len(got.Durations) > 0 || got.Durations.Quantile(0.5) != 0 {
			b.Errorf("timings %+v, want none", got)
		}
	}
	got, err := b.Timings(b.ctx, j.at(0), j.at(1))
	b.must(err)
	if !maps.Equal(got.Counts, map[ledger.State]int{ledger.Missed: 1}) {
		b.Errorf("%v, want the one scheduled time before the end", got.Counts)
	}
}

func processes(b *bed) {
	b.declare("p1", "v1", "j", "k")
	b.assignments("v1")
	b.pass(ledger.ProcessTTL + time.Hour)
	b.must(b.Declare(b.ctx, ledger.Declaration{
		Process: "p2", Registry: registry, Version: "v2", Host: "host-2", Program: "1.2.3", Definitions: definitions("v2", "j"),
	}))
	j := b.now("j")
	got, err := b.Admit(b.ctx, ledger.Admission{
		Plans: []ledger.Plan{j.plan(0, j.leased(0, ledger.OverlapAllow))}, Owner: "p2", Token: b.token(), LeaseFor: lease,
	})
	b.must(err)
	list, err := b.Processes(b.ctx)
	b.must(err)
	for i := range list {
		if age := got.Now.Sub(list[i].HeartbeatAt); list[i].Alive != (age < time.Hour) {
			b.Errorf("%+v, whose last heartbeat was %s ago", list[i], age)
		}
		list[i].HeartbeatAt = time.Time{}
	}
	want := []ledger.Process{{ID: "p1", Version: "v1", Definitions: 2}, {ID: "p2", Version: "v2", Alive: true, Definitions: 1, Running: 1, Host: "host-2", Program: "1.2.3"}}
	if !slices.Equal(list, want) {
		b.Errorf("processes %+v, want %+v", list, want)
	}
}

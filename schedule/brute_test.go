package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/schedule"
)

// wallTime is what a clock and a calendar on the wall show, to the minute.
type wallTime struct {
	month, day, hour, minute, weekday int8
	count                             int64 // of minutes, on a clock that never shifts
}

func onTheWall(count int64) wallTime {
	t := time.Unix(count*60, 0).UTC()
	return wallTime{int8(t.Month()), int8(t.Day()), int8(t.Hour()), int8(t.Minute()), int8(t.Weekday()), count}
}

func (w wallTime) String() string {
	return time.Unix(w.count*60, 0).UTC().Format("2006-01-02T15:04:05")
}

// clockReading is one real minute.
type clockReading struct {
	at       time.Time
	shows    wallTime
	repeated bool       // an earlier minute showed the same
	jumped   []wallTime // what the clock left out just before
}

// readClock reads a zone's clock each minute in [from, to), as somebody would
// who stood before it: it knows of shifts only by what it sees.
func readClock(loc *time.Location, from, to time.Time) []clockReading {
	from = from.AddDate(0, 0, -2) // to have seen what is repeated
	first := from.Unix()/60 - 24*60
	seen := make([]bool, to.Sub(from)/time.Minute+4*24*60)
	var readings []clockReading
	var expected int64
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		_, offset := at.In(loc).Zone()
		count := (at.Unix() + int64(offset)) / 60
		r := clockReading{at: at, shows: onTheWall(count), repeated: seen[count-first]}
		for ; len(readings) > 0 && expected < count; expected++ {
			r.jumped = append(r.jumped, onTheWall(expected))
		}
		expected, seen[count-first] = count+1, true
		readings = append(readings, r)
	}
	return readings[2*24*60:]
}

// spec is a schedule as sets of values; nil matches all.
type spec struct {
	minutes, hours, doms, months, dows []int
	minuteText, hourText               string // how the sets are written, if not as lists
}

func (s *spec) matches(w wallTime) bool {
	has := func(set []int, n int8) bool { return set == nil || slices.Contains(set, int(n)) }
	if !has(s.minutes, w.minute) || !has(s.hours, w.hour) || !has(s.months, w.month) {
		return false
	}
	dom, dow := has(s.doms, w.day), has(s.dows, w.weekday)
	if s.doms != nil && s.dows != nil {
		return dom || dow
	}
	return dom && dow
}

func (s *spec) wildcard() bool {
	return s.minutes == nil || s.hours == nil || s.minuteText != "" || s.hourText != ""
}

func (s *spec) String() string {
	list := func(set []int, text string) string {
		switch {
		case text != "":
			return text
		case set == nil:
			return "*"
		}
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(set), "[]"), " ", ",")
	}
	return strings.Join([]string{list(s.minutes, s.minuteText), list(s.hours, s.hourText),
		list(s.doms, ""), list(s.months, ""), list(s.dows, "")}, " ")
}

// bruteForce applies the policy to what the clock showed.
func bruteForce(s *spec, dst schedule.DST, readings []clockReading) (due []time.Time, lost []string) {
	literal := dst == schedule.DSTWall || dst == schedule.DSTOnce && s.wildcard()
	for i := range readings {
		r := &readings[i]
		fires := s.matches(r.shows) && (literal || !r.repeated)
		for _, w := range r.jumped {
			switch {
			case !s.matches(w) || literal:
			case dst == schedule.DSTOnce && len(r.jumped) <= 180:
				fires = true
			default:
				lost = append(lost, w.String())
			}
		}
		if fires {
			due = append(due, r.at)
		}
	}
	// Under skip the clock's gap loses a wildcard's times as well.
	if dst == schedule.DSTOnce && s.wildcard() || dst == schedule.DSTWall {
		lost = nil
	}
	return due, lost
}

// compare fails unless the schedule agrees with the clock over the readings.
func compare(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *spec, zone string, dst schedule.DST, readings []clockReading) {
	t.Helper()
	schedule, err := schedule.Parse(s.String(), zone, dst)
	if err != nil {
		if strings.Contains(err.Error(), "never fires") {
			return
		}
		t.Fatalf("%v", err)
	}
	after := readings[0].at.Add(-time.Second)
	through := readings[len(readings)-1].at
	want, lost := bruteForce(s, dst, readings)
	got := slices.Collect(schedule.Due(after, through))
	if !slices.Equal(got, want) {
		t.Fatalf("%s %s %s: %s", s, zone, dst, firstDifference(got, want))
	}
	if n := schedule.Count(after, through); n != len(want) {
		t.Fatalf("%s %s %s: counts %d scheduled times, want %d", s, zone, dst, n, len(want))
	}
	var gaps []string
	for g := range schedule.Gaps(after, through) {
		gaps = append(gaps, g.Local)
	}
	if !slices.Equal(gaps, lost) {
		t.Fatalf("%s %s %s: gaps %v, want %v", s, zone, dst, gaps, lost)
	}
	at := schedule.Last(through)
	for i := len(want) - 1; i >= 0; i-- {
		if !at.Equal(want[i]) {
			t.Fatalf("%s %s %s: Last gives %v, want %v", s, zone, dst, at, want[i])
		}
		at = schedule.Last(at.Add(-time.Second))
	}
}

func firstDifference(got, want []time.Time) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !got[i].Equal(want[i]) {
			return fmt.Sprintf("got %v, want %v", got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
	return "equal"
}

// provenZones are those whose habits differ most; each with years of shifts.
var provenZones = map[string][2]int{
	"America/New_York":    {2026, 2027},
	"Europe/London":       {1971, 1972}, // the end of three years of summer time
	"Australia/Lord_Howe": {1985, 1986}, // from an hour to half an hour
	"America/Sao_Paulo":   {2018, 2019},
	"Africa/Casablanca":   {2018, 2019}, // a new base offset, and Ramadan
	"Pacific/Apia":        {2011, 2012},
	"Asia/Kathmandu":      {1985, 1987},
	"UTC":                 {2026, 2027},
}

func TestAgreesWithAClockWatchedForYears(t *testing.T) {
	specs := []*spec{
		{},
		{minutes: []int{0}},
		{minutes: []int{0}, hours: []int{0, 6, 12, 18}, hourText: "*/6"},
		{minutes: []int{0, 15, 30, 45}, hours: []int{1, 2}, minuteText: "*/15"},
		{minutes: []int{0, 30}, hours: []int{0, 1, 2, 3, 23}},
		{minutes: []int{59}, hours: []int{23}, dows: []int{0, 6}},
		{minutes: []int{5}, hours: []int{0}, doms: []int{1, 30, 31}, dows: []int{5}},
		{minutes: []int{0}, hours: []int{2}, months: []int{3, 4, 10, 11}},
	}
	for zone, years := range provenZones {
		t.Run(zone, func(t *testing.T) {
			loc := parse(t, "@daily", zone, "").Location()
			from := time.Date(years[0], 1, 1, 0, 0, 0, 0, time.UTC)
			to := time.Date(years[1], 1, 1, 0, 0, 0, 0, time.UTC)
			readings := readClock(loc, from, to)
			for _, s := range specs {
				readings := readings
				if s.minutes == nil { // each minute of a year shows no more than those around a shift
					readings = aroundShift(loc, readings)
				}
				for _, dst := range []schedule.DST{schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall} {
					compare(t, s, zone, dst, readings)
				}
			}
		})
	}
}

// aroundShift returns the readings of a month, from the day before the first shift on; without a
// shift the first month.
func aroundShift(loc *time.Location, readings []clockReading) []clockReading {
	_, before := readings[0].at.In(loc).Zone()
	i := slices.IndexFunc(readings, func(r clockReading) bool { _, now := r.at.In(loc).Zone(); return now != before })
	first := max(0, i-24*60)
	return readings[first:min(len(readings), first+31*24*60)]
}

// drawSpec draws a schedule that is apt to meet shifts, which happen at night.
func drawSpec(t *rapid.T) *spec {
	set := func(label string, low, high int) []int {
		if rapid.Bool().Draw(t, "all "+label) {
			return nil
		}
		drawn := rapid.SliceOfNDistinct(rapid.IntRange(low, high), 1, 6, rapid.ID[int]).Draw(t, label)
		slices.Sort(drawn)
		return drawn
	}
	s := &spec{
		minutes: set("minutes", 0, 59),
		hours:   set("hours", 0, 23),
		doms:    set("days of the month", 1, 31),
		months:  set("months", 1, 12),
		dows:    set("days of the week", 0, 6),
	}
	if n := rapid.SampledFrom([]int{0, 2, 7, 25}).Draw(t, "minute step"); n > 0 {
		s.minuteText, s.minutes = fmt.Sprintf("*/%d", n), stepsOf(n, 60)
	}
	if n := rapid.SampledFrom([]int{0, 0, 2, 5}).Draw(t, "hour step"); n > 0 {
		s.hourText, s.hours = fmt.Sprintf("*/%d", n), stepsOf(n, 24)
	}
	return s
}

func stepsOf(n, size int) []int {
	var all []int
	for i := 0; i < size; i += n {
		all = append(all, i)
	}
	return all
}

// Any zone, any schedule, and any year after 1972, when the last offset with
// seconds in it (Monrovia's) went: a window around one of the zone's shifts.
func TestAgreesWithAClockWatchedAroundAnyShift(t *testing.T) {
	zones := everyZone(t)
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		at := time.Unix(rapid.Int64Range(3*365*86400, 130*365*86400).Draw(t, "instant"), 0).UTC().Truncate(time.Minute)
		daily, err := schedule.Parse("@daily", zone, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, end := at.In(daily.Location()).ZoneBounds(); !end.IsZero() {
			at = end.UTC().Truncate(time.Minute)
		}
		readings := readClock(daily.Location(), at.AddDate(0, 0, -2), at.AddDate(0, 0, 2))
		dst := rapid.SampledFrom([]schedule.DST{schedule.DSTOnce, schedule.DSTSkip, schedule.DSTWall}).Draw(t, "policy")
		for range 5 {
			compare(t, drawSpec(t), zone, dst, readings)
		}
	})
}

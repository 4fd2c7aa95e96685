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

func withShifts(t *testing.T, s *schedule.Schedule, shifts ...int64) *schedule.Schedule {
	t.Helper()
	other, err := s.WithShifts(shifts)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// Another release is planned by as it was: inside of its five years by its offsets.
func TestWithShiftsIsTheZoneOfAnotherRelease(t *testing.T) {
	s := parse(t, "0 12 * * *", "America/New_York", "")
	from, change, to := utc(t, "2026-01-01T00:00"), utc(t, "2027-03-14T07:00"), utc(t, "2031-01-01T00:00")
	other := withShifts(t, s, from.Unix(), -5*3600, change.Unix(), -4*3600, to.Unix()) // without the summer of 2026
	for _, c := range []struct{ after, want string }{
		{"2025-07-01T00:00", "2025-07-01T16:00"}, // before
		{"2026-07-01T00:00", "2026-07-01T17:00"},
		{"2027-03-13T00:00", "2027-03-13T17:00"},
		{"2027-03-14T00:00", "2027-03-14T16:00"},
		{"2030-12-31T00:00", "2030-12-31T16:00"},
		{"2031-01-01T00:00", "2031-01-01T17:00"}, // after
		{"2031-07-01T00:00", "2031-07-01T16:00"},
	} {
		if got := other.Next(utc(t, c.after)); got != utc(t, c.want) {
			t.Errorf("after %s: %v, want %s", c.after, got, c.want)
		}
		if got := other.Last(utc(t, c.want)); got != utc(t, c.want) {
			t.Errorf("up to %s: %v", c.want, got)
		}
	}
	gap := withShifts(t, parse(t, "30 2 * * *", "America/New_York", ""), from.Unix(), -5*3600, change.Unix(), -4*3600, to.Unix())
	if got := gap.Next(utc(t, "2027-03-14T00:00")); got != change {
		t.Errorf("a time in the gap: %v", got)
	}
}

func TestShiftsRoundTrip(t *testing.T) {
	for _, name := range everyZone(t) {
		s := parse(t, "0 12 * * *", name, "")
		shifts := s.Shifts()
		if n := len(shifts); name != "UTC" && (n < 3 || n%2 == 0 || n > 30) {
			t.Fatalf("%s: shifts %v", name, shifts)
		}
		same := withShifts(t, s, shifts...)
		if same != s {
			t.Errorf("%s: its own offsets make another schedule", name)
		}
		later := slices.Clone(shifts)
		if len(later) == 0 {
			continue
		}
		later[len(later)-1] -= 3600 // not its own: the same offsets for an hour less
		other := withShifts(t, s, later...)
		from := schedule.ZonesReleased()
		if got, want := slices.Collect(other.Due(from, from.AddDate(6, 0, 0))), slices.Collect(s.Due(from, from.AddDate(6, 0, 0))); !slices.Equal(got, want) {
			t.Errorf("%s: other times by its own offsets", name)
		}
	}
}

func TestDamagedShiftsAreRefused(t *testing.T) {
	s := parse(t, "0 12 * * *", "Asia/Tokyo", "")
	for _, shifts := range [][]int64{{1}, {1, 2}, {0, 3600, 0}, {0, 3600, 10, 7200, 5}, {0, 90000, 10}, {-1 << 62, 0, 0}, {0, 0, 1 << 62}} {
		if _, err := s.WithShifts(shifts); err == nil {
			t.Errorf("%v is not refused", shifts)
		}
	}
}

// A new release takes over when no local time has passed in one release and not in the
// other. Tokyo is nine hours before UTC.
func TestHandover(t *testing.T) {
	from, to := utc(t, "2026-01-01T00:00"), utc(t, "2031-01-01T00:00")
	const tokyo = 9 * 3600
	for _, c := range []struct {
		rule, expr string
		dst        schedule.DST
		offset     int64 // of the former release
		now, want  string
	}{
		{"no time is near", "0 12 * * *", "", tokyo - 7200, "2026-11-26T00:30", "2026-11-26T00:30"},
		{"a time would be lost: it passed in the new release only", "0 12 * * *", "", tokyo - 7200, "2026-11-26T04:00", "2026-11-26T05:00"},
		{"at the time of the new release", "0 12 * * *", "", tokyo - 7200, "2026-11-26T03:00", "2026-11-26T05:00"},
		{"a second before it", "0 12 * * *", "", tokyo - 7200, "2026-11-26T02:59:59", "2026-11-26T02:59:59"},
		{"at the time of the former release", "0 12 * * *", "", tokyo - 7200, "2026-11-26T05:00", "2026-11-26T05:00"},
		{"a time would be repeated: it passed in the former release only", "0 12 * * *", "", tokyo + 7200, "2026-11-26T02:00", "2026-11-26T03:00"},
		{"at the time of the former release, which fired", "0 12 * * *", "", tokyo + 7200, "2026-11-26T01:00", "2026-11-26T03:00"},
		{"several times in the shift, one after the other", "0 9,10,11 * * *", "", tokyo - 3600, "2026-11-26T00:30", "2026-11-26T03:00"},
		{"half an hour", "15,45 12 * * *", "", tokyo - 1800, "2026-11-26T03:20", "2026-11-26T04:15"},
		{"at() is a local time", "at(2026-11-26T12:00:00)", "", tokyo - 7200, "2026-11-26T04:00", "2026-11-26T05:00"},
		{"each hour: the releases fire at the same times", "0 * * * *", "", tokyo - 7200, "2026-11-26T04:10", "2026-11-26T04:10"},
		{"each second", "* * * * * *", "", tokyo - 7200, "2026-11-26T04:10", "2026-11-26T04:10"},
		{"a period counts from 1970", "@every 1h", "", tokyo - 5400, "2026-11-26T04:10", "2026-11-26T04:10"},
		{"under skip", "0 12 * * *", "skip", tokyo - 7200, "2026-11-26T04:00", "2026-11-26T05:00"},
		{"under wall", "0 12 * * *", "wall", tokyo - 7200, "2026-11-26T04:00", "2026-11-26T05:00"},
		{"a whole day: every local time is between", "0 12 * * *", "", tokyo - 86400, "2026-11-26T04:00", "2026-11-26T04:00"},
	} {
		next := parse(t, c.expr, "Asia/Tokyo", c.dst)
		former := withShifts(t, next, from.Unix(), c.offset, to.Unix())
		if got := former.Handover(next, utcSecond(t, c.now)); got != utcSecond(t, c.want) {
			t.Errorf("%s: %v, want %s", c.rule, got, c.want)
		}
	}
}

// An edit is not put off.
func TestHandoverIsForReleasesOnly(t *testing.T) {
	next := parse(t, "0 12 * * *", "Asia/Tokyo", "")
	now := utc(t, "2026-11-26T04:00")
	for _, s := range []*schedule.Schedule{
		parse(t, "0 13 * * *", "Asia/Tokyo", ""), parse(t, "0 12 * * *", "Asia/Seoul", ""), parse(t, "0 12 * * *", "Asia/Tokyo", "wall"),
	} {
		former := withShifts(t, s, utc(t, "2026-01-01T00:00").Unix(), 7*3600, utc(t, "2031-01-01T00:00").Unix())
		if got := former.Handover(next, now); got != now {
			t.Errorf("%s in %s: %v", s, s.Location(), got)
		}
	}
}

func utcSecond(t *testing.T, text string) time.Time {
	t.Helper()
	if len(text) == len("2026-11-26T00:30") {
		text += ":00"
	}
	at, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Whatever the shift and the moment of the update: the local times that fired in the
// former release until the handover, and those that fire in the new one after it, are
// all local times, each once.
func TestHandoverLosesAndRepeatsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hours := rapid.SliceOfNDistinct(rapid.IntRange(6, 18), 1, 4, rapid.ID[int]).Draw(t, "hours")
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(hours), " ", ","), "[]")
		expr := fmt.Sprintf("%d %s * * *", rapid.IntRange(0, 59).Draw(t, "minute"), list)
		next, err := schedule.Parse(expr, "Asia/Tokyo", rapid.SampledFrom([]schedule.DST{"once", "skip", "wall"}).Draw(t, "dst"))
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		offset := 9*3600 + 900*int64(rapid.IntRange(-12, 12).Draw(t, "quarters"))
		former, err := next.WithShifts([]int64{from.Unix(), offset, from.AddDate(5, 0, 0).Unix()})
		if err != nil {
			t.Fatal(err)
		}
		now := from.AddDate(0, 6, 0).Add(time.Duration(rapid.IntRange(0, 86400).Draw(t, "now")) * time.Second)
		at := former.Handover(next, now)
		if at.Before(now) || at.Sub(now) > 24*time.Hour {
			t.Fatalf("handover at %v, the update is at %v", at, now)
		}
		var fired []time.Time
		for due := range former.Due(at.AddDate(0, 0, -3), at) {
			fired = append(fired, due.Add(time.Duration(offset)*time.Second))
		}
		for due := range next.Due(at, at.AddDate(0, 0, 3)) {
			fired = append(fired, due.Add(9*time.Hour))
		}
		local, err := schedule.Parse(expr, "", "")
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Collect(local.Due(fired[0].Add(-1), fired[len(fired)-1]))
		if !slices.Equal(fired, all) {
			t.Errorf("fired at the local times %v, want %v", fired, all)
		}
	})
}

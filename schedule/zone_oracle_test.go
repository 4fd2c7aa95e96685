package schedule_test

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/schedule"
)

// testdata/zdump.txt has what another reader (zdump) finds in other files (those that
// Debian compiled) about the offsets of every zone in three years. scripts/build-zones
// writes it.
func TestZonesAgreeWithZdump(t *testing.T) {
	file, err := os.Open("testdata/zdump.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan()
	head := strings.Fields(lines.Text())
	if head[0] != schedule.ZoneVersion() {
		t.Fatalf("testdata/zdump.txt is of %s, the database of %s; run scripts/build-zones", head[0], schedule.ZoneVersion())
	}
	from, to := newYear(t, head[1]), newYear(t, head[2])
	var compared []string
	for lines.Scan() {
		offsets, zones, _ := strings.Cut(lines.Text(), "\t")
		want := zdumped(t, offsets)
		for _, name := range strings.Fields(zones) {
			compared = append(compared, name)
			compareOffsets(t, name, want, from, to)
		}
	}
	slices.Sort(compared)
	if all := everyZone(t); !slices.Equal(compared, all) {
		t.Errorf("%d zones compared, the database has %d", len(compared), len(all))
	}
}

// shift is from when on a zone has an offset, in Unix seconds and seconds.
type shift struct{ at, offset int64 }

// zdumped reads offsets such as "-05 2026-03-08T01 -04": the first, and each change's
// new local time and new offset.
func zdumped(t *testing.T, text string) []shift {
	t.Helper()
	words := strings.Fields(text)
	shifts := []shift{{offset: zdumpOffset(t, words[0])}}
	for i := 1; i < len(words); i += 2 {
		local, err := time.Parse("2006-01-02T15:04", (words[i] + ":00")[:16])
		if err != nil {
			t.Fatal(err)
		}
		offset := zdumpOffset(t, words[i+1])
		shifts = append(shifts, shift{local.Unix() - offset, offset})
	}
	return shifts
}

// zdumpOffset reads +HH, -HHMM and the like.
func zdumpOffset(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt((text + "00")[1:5], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if seconds := n/100*3600 + n%100*60; text[0] != '-' {
		return seconds
	} else {
		return -seconds
	}
}

func newYear(t *testing.T, year string) time.Time {
	t.Helper()
	return utc(t, year+"-01-01T00:00")
}

// compareOffsets compares the noon of every day, and both sides of each change.
func compareOffsets(t *testing.T, name string, want []shift, from, to time.Time) {
	t.Helper()
	s := parse(t, "0 12 * * *", name, "")
	next := from
	for at := range s.Due(from, to) {
		if local := wanted(want, at); local.Hour() != 12 || local.Minute() != 0 {
			t.Fatalf("%s: %v is a noon, but the clock shows %v", name, at, local)
		}
		if at.Sub(next) > 36*time.Hour {
			t.Fatalf("%s: no noon between %v and %v", name, next, at)
		}
		next = at
	}
	for _, w := range want[1:] {
		for _, at := range []time.Time{time.Unix(w.at-1, 0), time.Unix(w.at, 0)} {
			if got, want := at.In(s.Location()).Format(time.DateTime), wanted(want, at).Format(time.DateTime); got != want {
				t.Errorf("%s: the clock shows %s at %v, want %s", name, got, at.UTC(), want)
			}
		}
	}
}

// wanted is what a clock in the zone shows, as if it were UTC.
func wanted(shifts []shift, at time.Time) time.Time {
	offset := shifts[0].offset
	for _, s := range shifts[1:] {
		if s.at <= at.Unix() {
			offset = s.offset
		}
	}
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

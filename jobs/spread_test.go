package jobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

func spread(t *testing.T, schedule, timezone string, window time.Duration) jobs.Job {
	t.Helper()
	return one(t, build(t, release(func(j *jobs.Job) { j.Schedule, j.Timezone, j.Spread = schedule, timezone, window })), "release")
}

// The delays are a contract between processes, and between versions of the program.
// These are Python's int.from_bytes(sha256(b"acme release@...").digest()[:8]) % 300.
func TestTheDelaysOfASpreadAreFixed(t *testing.T) {
	j := spread(t, "0 * * * *", "UTC", 5*time.Minute)
	for at, want := range map[string]time.Duration{
		"2026-11-21T03:00:00Z": 114 * time.Second,
		"2026-11-21T04:00:00Z": 115 * time.Second,
		"2026-11-21T05:00:00Z": 271 * time.Second,
	} {
		t0, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := j.DueAt(t0).Sub(t0); got != want {
			t.Errorf("%s: delay %s, want %s", at, got, want)
		}
	}
	definition, _, _ := j.Definition()
	back, err := jobs.ParseDefinition(definition)
	if err != nil {
		t.Fatal(err)
	}
	for at := range j.ParsedSchedule().Due(three, three.Add(48*time.Hour)) {
		if got, want := back.DueAt(at), j.DueAt(at); !got.Equal(want) {
			t.Fatalf("read from the ledger, the run of %s starts at %s instead of %s", at, got, want)
		}
	}
	other := one(t, build(t, release(func(j *jobs.Job) { j.ID, j.Schedule, j.Spread = "other", "0 * * * *", 5*time.Minute })), "other")
	same := 0
	for at := range j.ParsedSchedule().Due(three, three.Add(1000*time.Hour)) {
		if other.DueAt(at).Equal(j.DueAt(at)) {
			same++
		}
	}
	if same > 20 { // 1000/300 are to be expected
		t.Errorf("two jobs start together %d times of 1000", same)
	}
}

// Each run starts before the next scheduled time, and DueBy agrees with DueAt, around
// clock changes too.
func TestDelaysEndBeforeTheNextScheduledTime(t *testing.T) {
	for _, tc := range []struct {
		schedule, timezone string
		window             time.Duration
		from               time.Time
		hours              int
	}{
		{"*/10 * * * *", "UTC", 10 * time.Minute, three, 30},
		{"0,15,45 1-3 * * *", "Europe/London", 15 * time.Minute, time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), 72},
		{"0 0,2,4,6,8,10,12,14 * * *", "America/New_York", 2 * time.Hour, time.Date(2027, 3, 13, 0, 0, 0, 0, time.UTC), 72}, // an hour from 07:00Z to the next
		{"@every 7s", "UTC", 7 * time.Second, three, 1},
	} {
		// The job's name makes the delay at 2027-03-14T07:00:00Z 1h41m59s of the full two hours.
		r := build(t, release(func(j *jobs.Job) {
			j.ID, j.Schedule, j.Timezone, j.Spread = "late", tc.schedule, tc.timezone, tc.window
		}))
		j := one(t, r, "late")
		until := tc.from.Add(time.Duration(tc.hours) * time.Hour)
		delayed := false
		for at := range j.ParsedSchedule().Due(tc.from, until) {
			due, next := j.DueAt(at), j.ParsedSchedule().Next(at)
			delayed = delayed || due.After(at)
			if due.Before(at) || !due.Before(next) || !due.Before(at.Add(tc.window)) || due.Nanosecond() != 0 {
				t.Fatalf("%s: the run of %s starts at %s; the next is scheduled at %s", tc.schedule, at, due, next)
			}
			for _, look := range []time.Time{at, due.Add(-1), due, next.Add(-1)} {
				if got, want := !j.DueBy(look).Before(at), !look.Before(due); got != want {
					t.Fatalf("%s: the run of %s starts at %s; at %s all up to %s are due", tc.schedule, at, due, look, j.DueBy(look))
				}
			}
		}
		if !delayed {
			t.Errorf("%s: no run is delayed", tc.schedule)
		}
		for at := range j.ParsedSchedule().Due(tc.from, until) {
			if due := j.DueAt(at); !j.NextRun(due.Add(-1)).Equal(at) || !j.NextRun(due).Equal(j.ParsedSchedule().Next(at)) {
				t.Fatalf("%s: the run of %s starts at %s; the next run before and at that time are those of %s and %s", tc.schedule, at, due, j.NextRun(due.Add(-1)), j.NextRun(due))
			}
		}
		i, _ := r.Index("late")
		if got, want := r.NextDue(i, tc.from), j.DueAt(j.ParsedSchedule().Next(tc.from)); !got.Equal(want) {
			t.Errorf("next due at %s, want %s", got, want)
		}
	}
}

func TestWithoutASpreadNothingIsDelayed(t *testing.T) {
	j := spread(t, "0 * * * *", "UTC", 0)
	if at := three.Add(time.Millisecond); !j.DueAt(three).Equal(three) || !j.DueBy(at).Equal(at) {
		t.Error(j.DueAt(three), j.DueBy(at))
	}
	last := spread(t, "at(2026-11-21T03:00:00)", "UTC", time.Hour)
	if got := last.DueAt(three); got.Before(three) || !got.Before(three.Add(time.Hour)) {
		t.Error(got)
	}
	i, _ := build(t, release(func(j *jobs.Job) { j.Schedule, j.Spread = "at(2020-01-01T00:00:00)", time.Hour })).Index("release")
	if got := build(t, release(func(j *jobs.Job) { j.Schedule, j.Spread = "at(2020-01-01T00:00:00)", time.Hour })).NextDue(i, three); !got.IsZero() {
		t.Error(got)
	}
}

func TestASpreadIsShorterThanEachInterval(t *testing.T) {
	for _, tc := range []struct {
		schedule, timezone string
		spread             time.Duration
		want               string
	}{
		{"*/5 * * * *", "UTC", 5 * time.Minute, ""},
		{"*/5 * * * *", "UTC", 5*time.Minute + time.Second, "spread 5m1s is longer than 5m0s, the shortest time between two scheduled times (2026-01-01T00:00:00Z and 2026-01-01T00:05:00Z); set at most 5m0s"},
		{"*/7 * * * *", "UTC", 5 * time.Minute, "is longer than 4m0s, the shortest time between two scheduled times (2026-01-01T00:56:00Z and 2026-01-01T01:00:00Z)"},
		{"0 0 * * *", "Europe/London", 24 * time.Hour, "is longer than 23h0m0s"},
		{"at(2027-01-01T00:00:00)", "UTC", 24 * time.Hour, ""},
		{"0 0 * * *", "UTC", 1500 * time.Millisecond, "spread 1.5s is not a number of whole seconds"},
		{"0 0 * * *", "UTC", -time.Second, ""}, // none, whatever the default is
		{"0 0 1 1 *", "UTC", 31 * 24 * time.Hour, "is too long; the maximum is 720h0m0s"},
	} {
		_, err := jobs.NewRegistry(jobs.Name("acme"), release(func(j *jobs.Job) { j.Schedule, j.Timezone, j.Spread = tc.schedule, tc.timezone, tc.spread }))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s every %s: %v, want %s", tc.spread, tc.schedule, err, tc.want)
		}
	}
	_, err := jobs.Parse("f", []byte("name: a\njobs: [ { id: a, schedule: '@daily', targetUrlEnv: A, path: /a, jitter: 5m } ]"))
	if err == nil || !strings.Contains(err.Error(), `did you mean "spread"?`) {
		t.Error(err)
	}
}

func TestASpreadNeedsALedger(t *testing.T) {
	got := build(t, release(func(j *jobs.Job) { j.Spread = time.Hour })).CheckWithoutLedger()
	if len(got) != 1 || got[0].Code != "needs_ledger" || !strings.Contains(got[0].Message, "spread") {
		t.Errorf("%+v", got)
	}
}

package operations_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/schedule"
)

// served is a service over a ledger in memory that knows the job, and whose clock is ahead.
func served(t *testing.T, j jobs.Job, ahead time.Duration) (*operations.Service, *memory.Ledger) {
	t.Helper()
	j.Target, j.Path = "svc", "/j"
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, j)
	if err != nil {
		t.Fatal(err)
	}
	l := memory.New()
	l.ShiftClock(ahead)
	body, hash, err := reg.Jobs()[0].Definition()
	if err != nil {
		t.Fatal(err)
	}
	d := ledger.Declaration{Process: "p", Registry: "acme", Version: "v", Definitions: func(yield func(ledger.Definition) bool) {
		yield(ledger.Definition{JobID: j.ID, Hash: hash, Body: body})
	}}
	if err := l.Declare(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Assignments(t.Context(), "v", ""); err != nil {
		t.Fatal(err)
	}
	return operations.New(operations.Config{Ledger: l, Registry: func() (*jobs.Registry, error) { return reg, nil }}), l
}

func TestWhyNamesTheGapOfAClockChange(t *testing.T) {
	s, _ := served(t, jobs.Job{ID: "j", Schedule: "30 2 * * *", Timezone: "America/New_York", DST: schedule.DSTSkip}, 0)
	v, err := s.Why(t.Context(), "j", "2027-03-14T07:30:00Z", "")
	if err != nil || v.Verdict != operations.NotScheduled || !strings.Contains(v.Text, "2027-03-14T02:30:00 does not exist in America/New_York") {
		t.Errorf("%+v, %v", v, err)
	}
}

// Of a time that was planned under a clock that was ahead, nothing promises a run.
func TestWhyTellsThatTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = 2 * time.Hour
		s, l := served(t, jobs.Job{ID: "j", Schedule: "* * * * *"}, ahead)
		l.ShiftClock(-ahead)
		began := time.Now().Add(ahead)
		for at, want := range map[time.Duration]operations.Verdict{time.Hour: operations.SetBack, 3 * time.Hour: operations.Future} {
			v, err := s.Why(t.Context(), "j", time.Now().Add(at).Truncate(time.Minute).Format(time.RFC3339), "")
			if err != nil || v.Verdict != want || (want == operations.SetBack) != strings.Contains(v.Text, "the ledger is ahead of the clock by 2h0m0s") {
				t.Errorf("%s: %+v, %v; want %s", at, v, err, want)
			}
		}
		job, err := s.Job(t.Context(), "j")
		if next := began.Add(time.Minute).UTC().Format(time.RFC3339); err != nil || job.Next != next {
			t.Errorf("next run at %s, %v; want %s, the first that is not planned yet", job.Next, err, next)
		}
		time.Sleep(ahead + time.Minute)
		v, err := s.Why(t.Context(), "j", began.Add(-time.Hour).Format(time.RFC3339), "")
		if err != nil || v.Verdict != operations.BeforeJob {
			t.Errorf("when the clock has reached the ledger: %+v, %v", v, err)
		}
	})
}

// A time without an offset is in the zone of the job's schedule, also where it comes twice or
// not at all.
func TestWhyTakesALocalTimeOfTheJobsZone(t *testing.T) {
	s, _ := served(t, jobs.Job{ID: "j", Schedule: "30 2 * * *", Timezone: "Europe/Berlin", DST: schedule.DSTOnce}, 0)
	for text, want := range map[string]string{
		"2026-11-21 02:30": "2026-11-21T01:30:00Z", "2026-07-21T02:30": "2026-07-21T00:30:00Z", "2026-07-21T02:30:00Z": "2026-07-21T02:30:00Z",
		"2026-10-25 02:30": "2026-10-25T00:30:00Z", "2026-10-25 02:30:00+01:00": "", "yesterday": "",
	} {
		v, err := s.Why(t.Context(), "j", text, "")
		if v.At != want || (err == nil) != (want != "") {
			t.Errorf("%s is %s, %v; want %s", text, v.At, err, want)
		}
	}
	v, err := s.Why(t.Context(), "j", "2026-11-21 02:30", "")
	if err != nil || v.Local != "2026-11-21T02:30:00 CET" || v.Verdict == operations.NotScheduled {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestWhyExplainsATriggeredRun(t *testing.T) {
	s, l := served(t, jobs.Job{ID: "j", Schedule: "0 3 * * *", Timezone: "Europe/Berlin"}, 0)
	id := jobs.RunIDWithToken("j", time.Date(2026, 11, 21, 3, 30, 0, 0, time.UTC), "x1")
	_, at, _, err := jobs.ParseRunID(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Enter(t.Context(), ledger.Entry{JobID: "j", Actor: ledger.Actor{By: "ann", Why: "test"}, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByOperator, Overlap: ledger.OverlapAllow,
		Call: ledger.CallSpec{Method: "POST", Path: "/"},
	}}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"2026-11-21T03:30:00Z~x1", "2026-11-21T04:30~x1"} {
		if v, err := s.Why(t.Context(), "j", text, ""); err != nil || v.Run == nil || v.Run.RunID != id {
			t.Errorf("%s: %+v, %v; want %s", text, v, err, id)
		}
	}
	if v, err := s.Why(t.Context(), "j", "2026-11-21T03:30:00Z~other", ""); err == nil || !strings.Contains(err.Error(), "has no run") {
		t.Errorf("%+v, %v", v, err)
	}
}

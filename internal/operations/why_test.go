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

// served is a service over a ledger in memory that knows the job.
func served(t *testing.T, j jobs.Job) (*operations.Service, *memory.Ledger) {
	t.Helper()
	j.Target, j.Path = "svc", "/j"
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, j)
	if err != nil {
		t.Fatal(err)
	}
	l := memory.New()
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
	if _, err := l.Assignments(t.Context(), "v"); err != nil {
		t.Fatal(err)
	}
	return operations.New(operations.Config{Ledger: l, Registry: func() (*jobs.Registry, error) { return reg, nil }}), l
}

func TestWhyNamesTheGapOfAClockChange(t *testing.T) {
	s, _ := served(t, jobs.Job{ID: "j", Schedule: "30 2 * * *", Timezone: "America/New_York", DST: schedule.DSTSkip})
	v, err := s.Why(t.Context(), "j", time.Date(2027, 3, 14, 7, 30, 0, 0, time.UTC))
	if err != nil || v.Verdict != operations.NotScheduled || !strings.Contains(v.Text, "2027-03-14T02:30:00 does not exist in America/New_York") {
		t.Errorf("%+v, %v", v, err)
	}
}

// Of a time that was planned under a clock that was ahead, nothing promises a run.
func TestWhyTellsThatTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := served(t, jobs.Job{ID: "j", Schedule: "* * * * *"})
		time.Sleep(time.Minute)
		l.ShiftClock(-2 * time.Hour) // the job began two hours ahead of now
		for at, want := range map[time.Duration]operations.Verdict{
			-30 * time.Minute: operations.SetBack, time.Hour: operations.Future,
		} {
			v, err := s.Why(t.Context(), "j", time.Now().Add(at).Truncate(time.Minute))
			if err != nil || v.Verdict != want || (want == operations.SetBack) != strings.Contains(v.Text, "the ledger is ahead of the clock by 1h59m0s") {
				t.Errorf("%s: %+v, %v; want %s", at, v, err, want)
			}
		}
		l.ShiftClock(2 * time.Hour)
		time.Sleep(time.Minute)
		v, err := s.Why(t.Context(), "j", time.Now().Add(-time.Hour))
		if err != nil || v.Verdict != operations.BeforeJob {
			t.Errorf("when the clock has reached the ledger: %+v, %v", v, err)
		}
	})
}

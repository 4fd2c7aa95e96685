package operations_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// ran adds a run that took a time.
func ran(t *testing.T, l *memory.Ledger, took time.Duration, state ledger.State) {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Second)
	id := jobs.RunID("j", at)
	got, err := l.Enter(context.Background(), ledger.Entry{JobID: "j", Process: "p", Token: fmt.Sprint("token", at.Unix()), LeaseFor: time.Hour, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow,
		Call: ledger.CallSpec{Target: "svc", Method: "POST", Path: "/", Timeout: time.Minute, Horizon: time.Hour}, Lease: true,
	}})
	if err != nil || got.Work == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	time.Sleep(took)
	o := ledger.Outcome{Lease: ledger.Lease{RunID: id, Token: got.Work.Token}, State: state, Attempt: ledger.Attempt{RunID: id, N: 1, Answer: ledger.AnswerFresh}}
	if state == ledger.Dead {
		o.Reason, o.Attempt.Answer = ledger.ReasonPermanent, ledger.AnswerRefused
	}
	if _, err := l.Record(context.Background(), []ledger.Outcome{o}); err != nil {
		t.Fatal(err)
	}
}

func TestTrendsCompareTheWeekWithThatOfFourWeeksBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := served(t, jobs.Job{ID: "j", Schedule: "0 0 * * *"}, 0)
		time.Sleep(12 * time.Hour)
		for day := range 36 {
			took := time.Second
			if day > 28 {
				took = 3 * time.Second
			}
			ran(t, l, took, ledger.Succeeded)
			if day == 30 {
				time.Sleep(time.Minute)
				ran(t, l, time.Minute, ledger.Dead)
			}
			time.Sleep(24 * time.Hour)
		}
		trend, err := s.Trend(t.Context(), "j")
		if err != nil || len(trend.Days) != 36 {
			t.Fatalf("%+v, %v", trend, err)
		}
		for i, want := range map[int]string{0: "1s", 30: "3s", 35: "3s"} {
			d := trend.Days[i]
			took, err := time.ParseDuration(d.P95)
			if wanted, _ := time.ParseDuration(want); err != nil || took < wanted*9/10 || took > wanted*11/10 || d.P50 != d.P95 || (d.Dead == 1) != (i == 30) || d.Runs != d.Dead+1 {
				t.Errorf("day %d is %+v, want about %s", i, d, want)
			}
		}
		if trend.Slowdown < 2.7 || trend.Slowdown > 3.3 {
			t.Errorf("slowdown %f, want about 3", trend.Slowdown)
		}
		if all, err := s.Slowdowns(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("hours that are not counted: %v, %v", all, err)
		}
		ran(t, l, time.Hour, ledger.Succeeded) // of today
		for more := true; more && err == nil; {
			more, err = l.RollUp(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if all, err := s.Slowdowns(t.Context()); err != nil || len(all) != 1 || all["j"] != trend.Slowdown {
			t.Errorf("%v, %v; want the same as the trend before today", all, err)
		}
		time.Sleep(24 * time.Hour)
		for more := true; more && err == nil; {
			more, err = l.RollUp(t.Context())
		}
		if all, later := s.Slowdowns(t.Context()); err != nil || later != nil || all["j"] < 1000 {
			t.Errorf("a day later %v, %v, %v; want that of the run of an hour", all, err, later)
		}
		if _, err := s.Trend(t.Context(), "nobody"); err == nil {
			t.Error("a job that nobody knows has a trend")
		}
	})
}

package operations_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// A run shows the pings of its heartbeat, and whether they arrived.
func TestARunShowsItsPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := jobs.Job{ID: "j", Schedule: "0 0 * * *", HeartbeatURLEnv: "HB"}
		s, l := served(t, j, 0)
		enter := func(e ledger.Entry, heartbeat bool) *ledger.Work {
			e.Process, e.Token, e.LeaseFor = "p", e.RunID, time.Hour
			e.Count, e.State, e.Overlap, e.Lease = 1, ledger.Planned, ledger.OverlapAllow, true
			e.Call = ledger.CallSpec{Target: "svc", Method: "POST", Path: "/", Timeout: time.Minute, Horizon: time.Hour, Heartbeat: heartbeat}
			got, err := l.Enter(t.Context(), e)
			if err != nil || got.Work == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			return got.Work
		}
		end := func(w *ledger.Work, state ledger.State) {
			o := ledger.Outcome{Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: state, Attempt: ledger.Attempt{RunID: w.RunID, N: 1, Answer: ledger.AnswerFresh}}
			if _, err := l.Record(t.Context(), []ledger.Outcome{o}); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Now().UTC().Truncate(time.Second)
		id := jobs.RunID("j", at)
		w := enter(ledger.Entry{JobID: "j", RunSpec: ledger.RunSpec{RunID: id, ScheduledAt: at, Trigger: ledger.BySchedule}}, true)
		time.Sleep(90 * time.Second)
		end(w, ledger.Succeeded)
		run, err := s.Run(t.Context(), id)
		if err != nil || len(run.Deliveries) != 0 {
			t.Errorf("before a ping: %+v, %v", run.Deliveries, err)
		}
		for _, kind := range []string{"start", "success"} {
			when := at
			if kind == "success" {
				when = at.Add(90 * time.Second)
			}
			ping := enter(ledger.Entry{JobID: j.HeartbeatJobID(), RunSpec: ledger.RunSpec{RunID: j.PingRunID(id, kind, when), ScheduledAt: when, Trigger: ledger.ByIncident}}, false)
			if kind == "start" {
				end(ping, ledger.Succeeded)
			}
		}
		run, err = s.Run(t.Context(), id)
		if err != nil || len(run.Deliveries) != 2 {
			t.Fatalf("%+v, %v", run.Deliveries, err)
		}
		first, last := run.Deliveries[0], run.Deliveries[1]
		if first.Event != "start" || first.Words() != "arrived" || first.Arrived == "" || last.Event != "success" || last.Words() != "not delivered yet" || last.JobID != "heartbeat-j" {
			t.Errorf("%+v", run.Deliveries)
		}
	})
}

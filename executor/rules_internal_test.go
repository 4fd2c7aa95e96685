package executor

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// never is a target that must not be called.
type never struct{ *testing.T }

func (n never) Call(context.Context, Call) Answer {
	n.Error("the target was called")
	return Answer{Kind: ledger.AnswerFresh}
}

// attempterOf makes the attempts of an executor that calls the caller.
func attempterOf(t *testing.T, c Caller) *attempter {
	reg, err := jobs.NewRegistry(jobs.Name("test"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{Registry: reg, Caller: c, Ledger: struct{ Ledger }{}})
	if err != nil {
		t.Fatal(err)
	}
	return e.dispatcher.attempts
}

// What was leased in good time may reach its turn too late.
func TestNothingIsCalledPastSendBeforeOrItsLease(t *testing.T) {
	for name, c := range map[string]struct {
		sendBefore, lease time.Duration // from now
		want              ledger.State
		reason            ledger.Reason
	}{
		"past its send-before time":   {-time.Second, time.Minute, ledger.Dead, ledger.ReasonKeyExpired},
		"after its lease has expired": {time.Minute, -time.Second, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := attempterOf(t, never{t})
			w := ledger.Work{RunID: "tick@2026-11-21T07:00:00Z", Token: "t", SendBefore: time.Now().Add(c.sendBefore), Call: ledger.CallSpec{Timeout: time.Minute}}
			r := a.work.begin(w, time.Now().Add(c.lease))
			if o, _ := a.attempt(t.Context(), r); o.State != c.want || o.Reason != c.reason {
				t.Errorf("outcome %q %q, want %q %q", o.State, o.Reason, c.want, c.reason)
			}
		})
	}
}

// toldUntil notes until when it was told that a call may be sent.
type toldUntil struct{ until time.Time }

func (t *toldUntil) Call(_ context.Context, c Call) Answer {
	t.until = c.SendUntil
	return Answer{Kind: ledger.AnswerFresh}
}

// A machine whose clock is hours ahead of the ledger's, or behind it, sends for
// as long as the ledger's clock allows.
func TestSendBeforeIsTheLedgersTimeOnAnyClock(t *testing.T) {
	for _, skew := range []time.Duration{-5 * time.Hour, 0, 5 * time.Hour} {
		var target toldUntil
		a := attempterOf(t, &target)
		clock := &a.ledger.clock
		clock.set(time.Now().Add(skew), time.Now())
		w := ledger.Work{RunID: "r", Token: "t", SendBefore: clock.now().Add(time.Hour), Call: ledger.CallSpec{Timeout: time.Minute}}
		a.attempt(t.Context(), a.work.begin(w, time.Now().Add(time.Minute)))
		if left := time.Until(target.until); left < 59*time.Minute || left > time.Hour {
			t.Errorf("a ledger %v from here: %v left to send, of an hour", skew, left)
		}
	}
}

func TestALocalTimeThatDoesNotExistIsAnEventOfItsJob(t *testing.T) {
	reg, err := jobs.NewRegistry(jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Job{ID: "night", Schedule: "30 2 * * *", Timezone: "America/New_York", DST: schedule.DSTSkip, Target: "svc", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range reg.Jobs() {
		if j.ID != "night" {
			continue
		}
		after := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
		plan := planJob(j, ledger.Position{JobID: j.ID, Revision: 1, Watermark: after}, after.Add(12*time.Hour), after.Add(12*time.Hour), 30*time.Second)
		if len(plan.Runs) != 0 || len(plan.Events) != 1 || plan.Events[0].Kind != ledger.EventGapSkipped || plan.Events[0].Local != "2026-03-08T02:30:00" {
			t.Errorf("%+v, %+v: want one event and no run", plan.Runs, plan.Events)
		}
	}
}

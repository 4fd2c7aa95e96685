package executor

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

var testCall = ledger.CallSpec{
	Timeout: 30 * time.Second, Jitter: 0.2, MaxRetryAfter: 5 * time.Minute,
	Backoff: []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second},
}

func TestOutcomeOf(t *testing.T) {
	tests := map[string]struct {
		failures int
		answer   Answer
		state    ledger.State
		reason   ledger.Reason
		wait     time.Duration
		spent    int
		replayed bool
	}{
		"a fresh answer succeeds":                      {0, Answer{Kind: ledger.AnswerFresh}, ledger.Succeeded, "", 0, 0, false},
		"a replayed answer succeeds and is marked":     {2, Answer{Kind: ledger.AnswerReplayed}, ledger.Succeeded, "", 0, 2, true},
		"the first failure waits 500 ms":               {0, Answer{Kind: ledger.AnswerFailed}, ledger.Retrying, "", 500 * time.Millisecond, 1, false},
		"the second waits 2 s":                         {1, Answer{Kind: ledger.AnswerUnknown}, ledger.Retrying, "", 2 * time.Second, 2, false},
		"the third waits 5 s":                          {2, Answer{Kind: ledger.AnswerFailed}, ledger.Retrying, "", 5 * time.Second, 3, false},
		"the fourth waits 30 s":                        {3, Answer{Kind: ledger.AnswerThrottled}, ledger.Retrying, "", 30 * time.Second, 4, false},
		"the fifth is dead":                            {4, Answer{Kind: ledger.AnswerFailed}, ledger.Dead, ledger.ReasonExhausted, 0, 5, false},
		"Retry-After is honoured":                      {0, Answer{Kind: ledger.AnswerThrottled, RetryAfter: time.Minute}, ledger.Retrying, "", time.Minute + 250*time.Millisecond, 1, false},
		"Retry-After below the backoff does not hurry": {3, Answer{Kind: ledger.AnswerThrottled, RetryAfter: time.Second}, ledger.Retrying, "", 30 * time.Second, 4, false},
		"Retry-After is capped":                        {0, Answer{Kind: ledger.AnswerThrottled, RetryAfter: time.Hour}, ledger.Retrying, "", 5*time.Minute + 250*time.Millisecond, 1, false},
		"a final answer is dead at once":               {0, Answer{Kind: ledger.AnswerRefused, Reason: ledger.ReasonPayloadMismatch}, ledger.Dead, ledger.ReasonPayloadMismatch, 0, 1, false},
		"a final answer without a reason":              {0, Answer{Kind: ledger.AnswerRefused}, ledger.Dead, ledger.ReasonPermanent, 0, 1, false},
		"in progress uses no attempt":                  {4, Answer{Kind: ledger.AnswerInProgress, RetryAfter: 3 * time.Second}, ledger.Retrying, "", 3300 * time.Millisecond, 4, false},
		"in progress without Retry-After waits 1 s":    {4, Answer{Kind: ledger.AnswerInProgress}, ledger.Retrying, "", time.Second, 4, false},
		"what was not sent is given back":              {4, Answer{Unsent: true, RetryAfter: 5 * time.Second}, ledger.Planned, "", 5 * time.Second, 4, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := ledger.Work{RunID: "r", Token: "t", Failures: tc.failures, Call: testCall}
			o := outcomeOf(w, tc.answer, time.Time{}, func() float64 { return 0.5 })
			if o.State != tc.state || o.Reason != tc.reason || o.Wait != tc.wait || o.Failures != tc.spent || o.Replayed != tc.replayed {
				t.Errorf("outcomeOf = %+v", o)
			}
			if o.RunID != "r" || o.Token != "t" {
				t.Errorf("the outcome is for another lease: %+v", o.Lease)
			}
		})
	}
}

func TestJitterStaysWithinItsFraction(t *testing.T) {
	for _, rnd := range []float64{0, 0.25, 0.5, 0.999999} {
		d := jittered(10*time.Second, 0.2, func() float64 { return rnd })
		if d < 8*time.Second || d > 12*time.Second {
			t.Errorf("jittered at %v = %v", rnd, d)
		}
	}
	if d := jittered(time.Second, -1, func() float64 { return 0 }); d != time.Second {
		t.Errorf("without jitter = %v", d)
	}
}

func TestWhatFailedTogetherComesBackApart(t *testing.T) {
	w := ledger.Work{Failures: 2, Call: testCall}
	for rnd, want := range map[float64]time.Duration{0: 4 * time.Second, 0.25: 4500 * time.Millisecond, 0.75: 5500 * time.Millisecond} {
		o := outcomeOf(w, Answer{Kind: ledger.AnswerFailed}, time.Time{}, func() float64 { return rnd })
		if off := o.Wait - want; off.Abs() > time.Microsecond {
			t.Errorf("at %v the third retry waits %v, want %v", rnd, o.Wait, want)
		}
	}
}

// A target tells all that it turns away to come back at one time. They come back then or
// later, and the more apart the more often it turned them away.
func TestWhatWasTurnedAwayTogetherComesBackLaterAndApart(t *testing.T) {
	for failures, most := range []time.Duration{1500 * time.Millisecond, 3 * time.Second, 6 * time.Second} {
		w := ledger.Work{Failures: failures, Call: testCall}
		w.Call.Jitter = 0
		answer := Answer{Kind: ledger.AnswerThrottled, RetryAfter: time.Second}
		if failures > 0 { // longer than the backoff
			answer.RetryAfter = most - w.Call.Backoff[failures]
		}
		for _, rnd := range []float64{0, 0.5, 1} {
			o := outcomeOf(w, answer, time.Time{}, func() float64 { return rnd })
			want := max(w.Call.Backoff[failures], answer.RetryAfter+time.Duration(rnd*float64(w.Call.Backoff[failures])))
			if answer.RetryAfter > w.Call.Backoff[failures] && o.Wait != want || o.Wait < answer.RetryAfter {
				t.Errorf("failure %d at %v waits %s, want %s", failures+1, rnd, o.Wait, want)
			}
		}
	}
}

func TestOutcomeOfLongWork(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	call := testCall
	call.Within, call.Poll = time.Hour, time.Minute
	for name, tc := range map[string]struct {
		accepted time.Duration // ago; negative: not yet
		within   time.Duration
		answer   Answer
		state    ledger.State
		reason   ledger.Reason
		wait     time.Duration
		failures int
	}{
		"without async a 202 is success":               {-1, 0, Answer{Kind: ledger.AnswerAccepted}, ledger.Succeeded, "", 0, 2},
		"after a 202 the next call waits for poll":     {-1, time.Hour, Answer{Kind: ledger.AnswerAccepted}, ledger.Accepted, "", time.Minute, 0},
		"Retry-After comes before poll":                {-1, time.Hour, Answer{Kind: ledger.AnswerAccepted, RetryAfter: 3 * time.Minute}, ledger.Accepted, "", 3*time.Minute + 18*time.Second, 0},
		"Retry-After is capped":                        {-1, time.Hour, Answer{Kind: ledger.AnswerAccepted, RetryAfter: 6 * time.Minute}, ledger.Accepted, "", 5*time.Minute + 30*time.Second, 0},
		"it is asked for the last time when it is due": {59*time.Minute + 30*time.Second, time.Hour, Answer{Kind: ledger.AnswerAccepted}, ledger.Accepted, "", 30 * time.Second, 0},
		"then a 202 is too late":                       {time.Hour, time.Hour, Answer{Kind: ledger.AnswerAccepted}, ledger.Dead, ledger.ReasonNotCompleted, 0, 2},
		"then a failure is too late":                   {time.Hour, time.Hour, Answer{Kind: ledger.AnswerFailed}, ledger.Dead, ledger.ReasonNotCompleted, 0, 2},
		"then a success is a success":                  {time.Hour, time.Hour, Answer{Kind: ledger.AnswerFresh}, ledger.Succeeded, "", 0, 2},
		"then a refusal has its own reason":            {time.Hour, time.Hour, Answer{Kind: ledger.AnswerRefused, Reason: ledger.ReasonUnauthorized}, ledger.Dead, ledger.ReasonUnauthorized, 0, 3},
		"then what was not sent is given back":         {time.Hour, time.Hour, Answer{Unsent: true}, ledger.Planned, "", time.Second, 2},
		"a failure while it works is retried":          {time.Minute, time.Hour, Answer{Kind: ledger.AnswerUnknown}, ledger.Retrying, "", 5 * time.Second, 3},
	} {
		w := ledger.Work{RunID: "r", Failures: 2, Call: call}
		w.Call.Within = tc.within
		if tc.accepted >= 0 {
			w.AcceptedAt = at.Add(-tc.accepted)
		}
		o := outcomeOf(w, tc.answer, at, func() float64 { return 0.5 })
		if o.State != tc.state || o.Reason != tc.reason || o.Wait != tc.wait || o.Failures != tc.failures {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

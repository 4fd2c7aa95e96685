package targets_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

// lines are the messages of a log in JSON.
func lines(t *testing.T, log *bytes.Buffer) (messages []string) {
	t.Helper()
	for line := range bytes.Lines(log.Bytes()) {
		var l struct{ Msg, Target string }
		if err := json.Unmarshal(line, &l); err != nil || l.Target != "membership" {
			t.Fatalf("line %s: %v", line, err)
		}
		messages = append(messages, l.Msg)
	}
	return messages
}

// A target that is down for 25 minutes and tried out every 10 s: a line when that
// begins, one each 10 minutes, and one when it is over.
func TestAnOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := raw500
		var log bytes.Buffer
		ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": aTarget}, func(c *targets.Config) {
			c.Dial, c.BreakerFailures, c.BreakerOpenFor = inMemory(func() string { return answer }), 3, 10*time.Second
			c.Logger = slog.New(slog.NewJSONHandler(&log, nil))
		})
		var sent, outage int
		for range 25 * 60 {
			a := attempt(t, ts, call(), time.Second)
			if !a.Unsent {
				sent++
			}
			if a.Outage {
				outage++
			}
			time.Sleep(time.Second)
		}
		if sent < 100 || outage != 25*60-3 {
			t.Errorf("%d calls were sent, and %d of all were in an outage; want one each 11 s, and all but the 3 that opened the breaker", sent, outage)
		}
		answer = rawOK
		time.Sleep(11 * time.Second)
		attempt(t, ts, call(), time.Second)
		if a := attempt(t, ts, call(), time.Second); a.Outage {
			t.Error("a call after the outage is said to be in it")
		}
		want := []string{
			"circuit breaker opened; runs wait without using attempts",
			"circuit breaker still open", "circuit breaker still open", "circuit breaker closed",
		}
		if got := lines(t, &log); !slices.Equal(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	})
}

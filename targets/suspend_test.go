package targets_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testclock"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// A machine that is suspended for longer than a token lives does not use it
// again, though its monotonic clock has hardly moved.
func TestATokenThatExpiredInASuspensionIsReplaced(t *testing.T) {
	var clock testclock.Clock
	a := &authority{expires: `"expires_in":3600,`}
	ts := resolve(t, oauth2, oauth2Env(serve(t, plain(200)).URL, serve(t, a.ServeHTTP).URL), func(c *targets.Config) { c.WithClock(clock.Now) })
	attempt(t, ts, call(), maxWait)
	clock.Suspend(2 * time.Hour)
	if got := attempt(t, ts, call(), maxWait); got.Kind != ledger.AnswerFresh || a.requests.Load() != 2 {
		t.Errorf("got %+v after %d requests for a token, want a second one", got, a.requests.Load())
	}
}

// The last look before a request goes out is by the wall clock too.
func TestNothingIsSentPastSendBeforeAfterASuspension(t *testing.T) {
	var calls atomic.Int32
	var clock testclock.Clock
	url := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) }).URL
	ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": url}, func(c *targets.Config) { c.WithClock(clock.Now) })
	c := call()
	c.SendUntil = clock.Now().Add(time.Hour)
	clock.Suspend(2 * time.Hour)
	if a := attempt(t, ts, c, maxWait); !a.Unsent || calls.Load() != 0 {
		t.Errorf("got %+v, %d sent", a, calls.Load())
	}
}

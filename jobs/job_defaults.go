package jobs

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/schedule"
)

// withDefaults fills the zero fields and copies what the caller could still
// change.
func (j Job) withDefaults(p Platform) Job {
	j.Alarm.StartWithin, j.Alarm.FinishWithin, j.Spread = max(j.Alarm.StartWithin, 0), max(j.Alarm.FinishWithin, 0), max(j.Spread, 0)
	setDefault(&j.Timezone, "UTC")
	setDefault(&j.DST, schedule.DSTOnce)
	setDefault(&j.Method, methods[0])
	setDefault(&j.Timeout, 30*time.Second)
	setDefault(&j.Overlap, OverlapSkip)
	setDefault(&j.CatchUp, CatchUpLatest)
	setDefault(&j.CatchUpWindow, 24*time.Hour)
	if j.Acknowledge == AckByOperator {
		j.Acknowledge = ""
	}
	route, _, _ := strings.Cut(j.Path, "?")
	setDefault(&j.KeyScope, "route:"+j.Method+"_"+routePath(route))
	j.Scopes = slices.Clone(j.Scopes)
	j.Headers = maps.Clone(j.Headers)
	j.Retry = j.Retry.withDefaults()
	if j.Async != (Async{}) {
		setDefault(&j.Async.Poll, defaultPoll)
	}
	if j.fansOut() {
		setDefault(&j.Each.Max, DefaultEachMax)
	}
	setDefault(&j.Retry.Horizon, j.HorizonTerms(p).Sum())
	return j
}

func (r Retry) withDefaults() Retry {
	if r.Backoff == nil {
		r.Backoff = []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second}
	}
	r.Backoff = slices.Clone(r.Backoff)
	setDefault(&r.Jitter, 0.2)
	r.Jitter = max(r.Jitter, 0)
	setDefault(&r.MaxRetryAfter, 5*time.Minute)
	return r.continued()
}

// continued adds the waits that For asks for.
func (r Retry) continued() Retry {
	if r.For <= 0 {
		return r
	}
	setDefault(&r.MaxBackoff, defaultMaxBackoff)
	wait, sum := 250*time.Millisecond, time.Duration(0)
	for _, wait = range r.Backoff {
		sum += wait
	}
	for len(r.Backoff) <= maxBackoff {
		wait = min(max(2*wait, time.Millisecond), r.MaxBackoff)
		if sum += wait; sum > r.For {
			break
		}
		r.Backoff = append(r.Backoff, wait)
	}
	return r
}

// defaultMaxBackoff is the default of Retry.MaxBackoff.
const defaultMaxBackoff = 5 * time.Minute

// defaultPoll is the default of Async.Poll.
const defaultPoll = time.Minute

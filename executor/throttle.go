package executor

import "time"

const (
	// throttledAhead is the number of runs that wait in this process for a throttled target.
	// Other processes may have places for more.
	throttledAhead = 16
	// longestGap bounds what a Retry-After can make of the gap: it may mean when a quota
	// is refilled, perhaps of one job.
	longestGap = 10 * time.Second
	// shortestGap ends the throttling.
	shortestGap = 20 * time.Millisecond
	// firstGap is that of an answer without Retry-After.
	firstGap = 100 * time.Millisecond
)

// throttle has the time between the starts of two calls to a target, learned from its
// answers that ask to slow down. Without it, all runs that were turned away would come back
// together and be turned away again. The workset guards it.
type throttle struct {
	gap    time.Duration // 0: the target has not asked for one
	next   time.Time     // no call starts before
	slowed time.Time     // when the gap last grew
}

// wait returns how long no call may start; 0: one may start now.
func (t *throttle) wait() time.Duration {
	if t.next.IsZero() {
		return 0
	}
	return max(0, time.Until(t.next))
}

// started notes that a call starts: the next one waits for the gap.
func (t *throttle) started() {
	if t.gap > 0 {
		t.next = time.Now().Add(max(t.gap, t.wait()))
	}
}

// answered learns from the answer to a call that took so long. The gap grows once for
// all calls that were in flight together, and shrinks with each call that is taken.
func (t *throttle) answered(a Answer, took time.Duration) {
	switch {
	case a.Unsent:
	case a.SlowDown:
		now, requested := time.Now(), min(orElse(a.RetryAfter, firstGap), longestGap)
		if now.Add(-took).After(t.slowed) {
			t.gap, t.slowed = min(max(requested, t.gap*3/2), longestGap), now
		}
		t.next = now.Add(max(requested, t.wait()))
	case t.gap > 0:
		if t.gap = t.gap * 19 / 20; t.gap < shortestGap {
			*t = throttle{}
		}
	}
}

// answered lets a target's throttle learn from an answer.
func (s *workset) answered(r *run, a Answer, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.lane.throttle.answered(a, took)
}

// untilThrottled returns how long throttles keep every queued run from starting,
// at most limit.
func (s *workset) untilThrottled(limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes.order {
		if wait := l.throttle.wait(); wait > 0 && l.waiting > 0 {
			limit = min(limit, wait)
		}
	}
	return limit
}

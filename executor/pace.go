package executor

import "time"

const (
	// pacedAhead is how many runs wait in this process for a target that has a pace.
	// Other processes may have places for more.
	pacedAhead = 16
	// longestGap bounds what a Retry-After can make of the pace: it may mean when a quota
	// is refilled, perhaps of one job.
	longestGap = 10 * time.Second
	// shortestGap ends a pace.
	shortestGap = 20 * time.Millisecond
	// firstGap is that of an answer without Retry-After.
	firstGap = 100 * time.Millisecond
)

// pace is the time between the starts of two calls to a target, learned from its
// answers that ask to slow down. Without it, all runs that were turned away would come back
// together and be turned away again. The workset guards it.
type pace struct {
	gap    time.Duration // 0: the target has not asked for one
	next   time.Time     // no call starts before
	slowed time.Time     // when the gap last grew
}

// wait is how long no call may start.
func (p *pace) wait() time.Duration {
	if p.next.IsZero() {
		return 0
	}
	return max(0, time.Until(p.next))
}

func (p *pace) started() {
	if p.gap > 0 {
		p.next = time.Now().Add(max(p.gap, p.wait()))
	}
}

// answered learns from the answer to a call that took so long. The gap grows once for
// all calls that were in flight together, and shrinks with each call that is taken.
func (p *pace) answered(a Answer, took time.Duration) {
	switch {
	case a.Unsent:
	case a.SlowDown:
		now, asked := time.Now(), min(orElse(a.RetryAfter, firstGap), longestGap)
		if now.Add(-took).After(p.slowed) {
			p.gap, p.slowed = min(max(asked, p.gap*3/2), longestGap), now
		}
		p.next = now.Add(max(asked, p.wait()))
	case p.gap > 0:
		if p.gap = p.gap * 19 / 20; p.gap < shortestGap {
			*p = pace{}
		}
	}
}

// answered lets a target's pace learn from an answer.
func (s *workset) answered(r *run, a Answer, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.lane.pace.answered(a, took)
}

// untilPaced returns how long the pace of the targets keeps every queued run from starting,
// at most limit.
func (s *workset) untilPaced(limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes.turns {
		if wait := l.pace.wait(); wait > 0 && l.waiting > 0 {
			limit = min(limit, wait)
		}
	}
	return limit
}

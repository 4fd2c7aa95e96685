package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// followClock moves what is in progress if the clock was set back since the latest
// heartbeat or, with leases, the latest lease. See ledger.ClockStep.
func (l *Ledger) followClock(now time.Time, leases bool) {
	var latest time.Time
	for _, p := range l.processes {
		if p.seen.After(latest) {
			latest = p.seen
		}
	}
	for _, r := range l.indexes.due {
		if leases && r.LeasedAt.After(latest) {
			latest = r.LeasedAt
		}
	}
	step := ledger.ClockStep(latest, now)
	if step == 0 {
		return
	}
	for _, p := range l.processes {
		if p.seen.After(now) {
			p.seen = now
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		r := l.runs[id]
		moved := r.Row
		if !moved.FollowClock(step, now) {
			continue
		}
		l.indexes.remove(r)
		r.Row = moved
		l.indexes.add(r)
		l.touch(r)
	}
	for _, i := range l.incidents {
		if !i.DueAt.IsZero() {
			i.DueAt = i.DueAt.Add(-step)
		}
	}
}

package proof

import (
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// spans finds runs that took too long: nothing is sent after a run's horizon, or, if it was
// redriven, after its send-before time, and the next claim makes it dead.
func (c *check) spans() {
	for _, id := range slices.Sorted(maps.Keys(c.Took)) {
		r := c.rows[id]
		if r.Call.Each != nil {
			continue // its members are bounded
		}
		if took, most := c.Took[id], max(r.Call.Horizon, r.SendBefore.Sub(r.StartedAt))+c.Spare; took > most {
			c.add(Slow, id, "%s, and %s is the most; it is %s", took, most, c.rows[id].State)
		}
	}
}

// deaths asks each dead run's history for its cause.
func (c *check) deaths() {
	if c.Attempts == nil {
		return
	}
	refused := map[string]bool{}
	for _, q := range c.Requests {
		refused[q.RunID+" "+string(q.Reason)] = true
	}
	for _, id := range slices.Sorted(maps.Keys(c.rows)) {
		if r := c.rows[id]; r.State == ledger.Dead && !c.founded(r, refused[id+" "+string(r.Reason)]) {
			c.add(Unfounded, id, "%q after %d failures of %d, at %s, sendBefore %s", r.Reason,
				c.failed(id), len(r.Call.Backoff)+1, stamp(r.FinishedAt), stamp(r.SendBefore))
		}
	}
}

// founded reports whether a dead run's reason holds; refused: its target gave
// that reason.
func (c *check) founded(r ledger.Run, refused bool) bool {
	switch r.Reason {
	case ledger.ReasonExhausted:
		return c.failed(r.ID) == len(r.Call.Backoff)+1
	case ledger.ReasonNotCompleted:
		return !r.AcceptedAt.IsZero() && !r.FinishedAt.Before(r.AcceptedAt.Add(r.Call.Within-c.Lead))
	case ledger.ReasonKeyExpired:
		return refused || !r.FinishedAt.Before(r.SendBefore.Add(-c.Lead))
	case ledger.ReasonMembers:
		return c.failedMembers[r.ID] > 0
	case ledger.ReasonPermanent, ledger.ReasonUnauthorized, ledger.ReasonPayloadMismatch:
		list := c.Attempts[r.ID]
		return len(list) > 0 && list[len(list)-1].Answer == ledger.AnswerRefused && (refused || !c.Answered)
	}
	return false
}

// wasted finds runs that had every chance.
func (c *check) wasted() {
	for _, id := range slices.Sorted(maps.Keys(c.rows)) {
		r := c.rows[id]
		begun, known := c.Begun[id]
		if known && !c.Healthy.IsZero() && begun.After(c.Healthy) && r.State.Finished() && r.State != ledger.Succeeded {
			c.add(Wasted, id, "%s %s, begun at %s, and all was well since %s", r.State, r.Reason, stamp(begun), stamp(c.Healthy))
		}
	}
}

// removals finds rows that went too early.
func (c *check) removals() {
	for _, r := range c.Removed {
		keep := r.Retention
		if p, member := c.rows[r.Parent]; member {
			r.Run = p // members go with their parent, before it
		}
		if r.State == ledger.Dead && r.AckedAt.IsZero() {
			keep = r.DeadRetention
		}
		if !r.State.Finished() || r.FinishedAt.Add(keep).After(r.At) {
			c.add(Purged, r.ID, "%s since %s, gone at %s, to be kept for %s", r.State, stamp(r.FinishedAt), stamp(r.At), keep)
		}
	}
}

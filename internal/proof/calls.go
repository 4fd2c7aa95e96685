package proof

import (
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// keyed finds events that were acknowledged and came to nothing.
func (c *check) keyed() {
	done := map[string]bool{}
	for _, e := range c.Effects {
		done[e.RunID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(c.Keyed)) {
		if c.Keyed[id].Acknowledged && !done[id] {
			c.add(Unheeded, id, "")
		}
	}
}

// sent finds calls that left when their keys might have been forgotten,
// whatever their targets made of them.
func (c *check) sent() {
	for _, q := range c.Requests {
		end := c.rows[q.RunID].SendBefore
		if k, ok := c.Keyed[q.RunID]; ok {
			end = k.SendBefore
		}
		if !q.Sent.IsZero() && !end.IsZero() && q.Sent.After(end.Add(c.Lag+c.Back)) {
			c.add(SentLate, q.RunID, "attempt %d at %s, sendBefore %s", q.Attempt, stamp(q.Sent), stamp(end))
		}
	}
}

// histories finds attempts that were made, or may have been, and are not kept.
func (c *check) histories() {
	if c.Attempts == nil {
		return
	}
	kept := map[string]map[int]bool{}
	for id, list := range c.Attempts {
		kept[id] = map[int]bool{}
		for _, a := range list {
			kept[id][a.N] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.rows)) {
		r := c.rows[id]
		last := r.Attempt
		if !r.State.Finished() {
			last-- // it may be under way
		}
		for n := 1; n <= last; n++ {
			if !kept[id][n] {
				c.add(Forgotten, id, "number %d of %d; it is %s", n, r.Attempt, r.State)
			}
		}
	}
	for _, q := range c.Requests {
		if r, ok := c.rows[q.RunID]; ok && r.State.Finished() && q.Attempt > 0 && !kept[q.RunID][q.Attempt] && q.Attempt > c.Returned[q.RunID] {
			c.add(Forgotten, q.RunID, "a call says it is number %d", q.Attempt)
		}
	}
}

// failed counts the attempts that used up a retry since a run last got them all.
func (c *check) failed(id string) (n int) {
	for _, a := range c.Attempts[id] {
		if a.N > c.Renewed[id] && (a.Answer == ledger.AnswerFailed || a.Answer == ledger.AnswerThrottled || a.Answer == ledger.AnswerUnknown) {
			n++
		}
	}
	return n
}

// budgets finds runs that were not given up.
func (c *check) budgets() {
	for _, id := range slices.Sorted(maps.Keys(c.Attempts)) {
		if n, most := c.failed(id), len(c.rows[id].Call.Backoff)+1; n > most {
			c.add(Tireless, id, "%d attempts failed, and %d may", n, most)
		}
	}
}

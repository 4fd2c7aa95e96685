package proof

import (
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// effects compares the targets' record with the runs.
func (c *check) effects() {
	made := map[string][]Effect{}
	for _, e := range c.Effects {
		c.tally.Effects++
		made[e.RunID] = append(made[e.RunID], e)
	}
	for _, id := range slices.Sorted(maps.Keys(made)) {
		c.effectsOf(id, made[id])
	}
	for _, id := range slices.Sorted(maps.Keys(c.rows)) {
		if r := c.rows[id]; r.State == ledger.Succeeded && r.Call.Each == nil && len(made[id]) == 0 {
			c.add(NoEffect, id, "")
		}
	}
}

func (c *check) effectsOf(id string, made []Effect) {
	r, ok := c.rows[id]
	if k, keyed := c.Keyed[id]; keyed && !ok {
		r = ledger.Run{ScheduledAt: k.At, StartedAt: k.At, SendBefore: k.SendBefore, State: "its key's"}
	} else if !ok {
		c.add(NoRun, id, "at %s", stamp(made[0].At))
		return
	}
	if len(made) > 1 {
		c.add(TwoEffects, id, "%d, at %s and %s; the run is %s", len(made), stamp(made[0].At), stamp(made[1].At), r.State)
	}
	if r.StartedAt.IsZero() {
		c.add(Unplanned, id, "it is %s", r.State)
	}
	for _, e := range made {
		if !ledger.IsAdHoc(id) && e.Begun.Add(c.Skew).Before(r.ScheduledAt) {
			c.add(Early, id, "at %s", stamp(e.Begun))
		}
		if !r.SendBefore.IsZero() && !e.Begun.Before(r.SendBefore.Add(c.Skew+c.Back)) {
			c.add(Late, id, "at %s, sendBefore %s", stamp(e.Begun), stamp(r.SendBefore))
		}
	}
}

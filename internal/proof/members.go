package proof

import (
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// members compares the frozen lists with what the target served and with the members' runs.
func (c *check) members() {
	made := map[string]map[string]ledger.State{} // by parent, the states of its members' runs
	for _, r := range c.rows {
		if r.Parent == "" {
			continue
		}
		if made[r.Parent] == nil {
			made[r.Parent] = map[string]ledger.State{}
		}
		made[r.Parent][r.ID] = r.State
		if r.State == ledger.Dead || r.State == ledger.Canceled {
			c.failedMembers[r.Parent]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.rows)) {
		if p := c.rows[id]; p.Call.Each != nil {
			c.parent(p, made[id])
		}
	}
}

// parent checks one list and the runs that were made of it.
func (c *check) parent(p ledger.Run, made map[string]ledger.State) {
	var keys []string
	listed := map[string]bool{}
	for _, m := range c.Frozen[p.ID] {
		keys, listed[m.RunID] = append(keys, m.Key), true
		switch s := made[m.RunID]; {
		case p.State == ledger.Succeeded && s != ledger.Succeeded:
			c.add(Partial, p.ID, "%s is %q", m.RunID, s)
		case p.Reason == ledger.ReasonMembers && (s == "" || !s.Finished()):
			c.add(Deserted, m.RunID, "it is %q", s)
		}
	}
	for id := range made {
		if !listed[id] {
			c.add(Torn, id, "it is not in the list")
		}
	}
	served := slices.ContainsFunc(c.Lists[p.ID], func(list []string) bool {
		return slices.Equal(slices.Sorted(slices.Values(list)), slices.Sorted(slices.Values(keys)))
	})
	if c.Lists != nil && !served && (p.State == ledger.Succeeded || len(keys) > 0) {
		c.add(Torn, p.ID, "%s with %q; served were %q", p.State, keys, c.Lists[p.ID])
	}
}

package proof

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// account is one job's scheduled times and what stands for them.
type account struct {
	due    map[int64]bool // scheduled times that must have a row, in Unix seconds
	own    map[int64]int  // rows of their own
	ranges []ledger.Run
	later  []Revision // open revisions, whose coming scheduled times may have rows
}

// scheduledTimes compares each job's scheduled times with its rows.
func (c *check) scheduledTimes() {
	accounts := c.accounts()
	for _, id := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[id]
		covered := c.ranges(id, a)
		for _, at := range slices.Sorted(maps.Keys(a.due)) {
			c.tally.Times++
			if a.own[at] == 0 && covered[at] == 0 {
				c.add(Lost, jobs.RunID(id, time.Unix(at, 0)), "")
			}
		}
		for _, at := range slices.Sorted(maps.Keys(a.own)) {
			c.ownRows(id, a, at)
		}
	}
}

// ownRows checks the rows of one scheduled time of a job.
func (c *check) ownRows(jobID string, a *account, at int64) {
	id := jobs.RunID(jobID, time.Unix(at, 0))
	if n := a.own[at]; n > 1 {
		c.add(Doubled, id, "%d rows", n)
	}
	if !a.due[at] && !c.Given[id] && !a.coming(at) {
		r := c.rows[id]
		c.add(Stray, id, "%s in revision %d, planned %s", r.State, r.Revision, stamp(r.PlannedAt))
	}
}

func (a *account) coming(at int64) bool {
	t := time.Unix(at, 0)
	for _, e := range a.later {
		if t.After(e.To) && e.Schedule.Last(t).Equal(t) {
			return true
		}
	}
	return false
}

func within(r ledger.Run, at int64) bool { return at >= r.ScheduledAt.Unix() && at <= r.Until.Unix() }

// ranges checks the counts of a job's range rows, and returns how many of them
// each scheduled time lies in that has no row of its own.
func (c *check) ranges(jobID string, a *account) map[int64]int {
	covered := map[int64]int{}
	for _, r := range a.ranges {
		n := 0
		for at := range a.due {
			if within(r, at) && a.own[at] == 0 {
				n++
				covered[at]++
			}
		}
		if r.Count != n {
			c.add(Miscounted, r.ID, "counts %d, and accounts for %d", r.Count, n)
		}
	}
	for at, n := range covered {
		if n > 1 {
			c.add(Doubled, jobs.RunID(jobID, time.Unix(at, 0)), "%d range rows", n)
		}
	}
	return covered
}

// accounts sorts scheduled times and rows by job.
func (c *check) accounts() map[string]*account {
	accounts := map[string]*account{}
	of := func(id string) *account {
		if accounts[id] == nil {
			accounts[id] = &account{due: map[int64]bool{}, own: map[int64]int{}}
		}
		return accounts[id]
	}
	for _, e := range c.Revisions {
		a := of(e.JobID)
		for at := range e.Schedule.Due(e.From, e.To) {
			a.due[at.Unix()] = true
		}
		if e.Open {
			a.later = append(a.later, e)
		}
	}
	for _, r := range c.Rows {
		c.count(r)
		switch {
		case ledger.IsAdHoc(r.ID), r.Parent != "":
		case !r.Until.IsZero():
			a := of(r.JobID)
			a.ranges = append(a.ranges, r)
		default:
			of(r.JobID).own[r.ScheduledAt.Unix()]++
		}
	}
	return accounts
}

func (c *check) count(r ledger.Run) {
	c.rows[r.ID] = r
	c.tally.Rows++
	switch r.State {
	case ledger.Succeeded:
		c.tally.Succeeded++
		if r.Replayed {
			c.tally.Replayed++
		}
	case ledger.Dead:
		c.tally.Dead++
	default:
		c.tally.Unrun += r.Count
	}
}

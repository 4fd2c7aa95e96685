package operations

import (
	"context"
	"slices"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Cause is what the unacknowledged dead runs of a target have in common: an outage is one
// cause, however many jobs it has hit.
type Cause struct {
	Target string        `json:"target"`
	Reason ledger.Reason `json:"reason"`
	Status int           `json:"status,omitempty"` // HTTP status of the latest answer; 0: none
	Jobs   []string      `json:"jobs"`             // the first of them, by ID
	Others int           `json:"moreJobs"`         // how many other jobs there are
	Runs   int           `json:"runs"`
	Since  string        `json:"since"` // when the first of the runs died
	RunID  string        `json:"runId"` // the newest of them

	Group ledger.RunGroup   `json:"-"` // all of them
	All   []ledger.RunGroup `json:"-"` // by job
}

// Attention has the unacknowledged dead runs by cause. The cause of the newest run comes first.
type Attention struct {
	Causes []Cause `json:"causes"`
	More   int     `json:"moreDead"` // runs that are in none of these causes
}

const (
	// DeadLooked is the number of the newest dead runs that are grouped by what they have in
	// common, here and on the dashboard.
	DeadLooked  = 1000
	causesShown = 20
	jobsShown   = 10
)

// attention reads what the newest dead runs have in common.
func (s *Service) attention(ctx context.Context, dead int) (Attention, error) {
	v := Attention{Causes: []Cause{}, More: dead}
	if dead == 0 {
		return v, nil
	}
	groups, err := s.ledger.Groups(ctx, ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: DeadLooked})
	if err != nil {
		return v, err
	}
	causes := CausesOf(groups)
	v.Causes = causes[:min(len(causes), causesShown)]
	for _, c := range v.Causes {
		v.More -= c.Runs
	}
	v.More = max(v.More, 0) // the count is older than the list
	return v, nil
}

// CausesOf groups dead runs by target, reason and status. groups come newest first.
func CausesOf(groups []ledger.RunGroup) []Cause {
	type key struct {
		target string
		reason ledger.Reason
		status int
	}
	place := map[key]int{}
	causes := []Cause{}
	for _, g := range groups {
		k := key{g.Target, g.Reason, g.Status}
		i, known := place[k]
		if !known {
			place[k] = len(causes)
			causes = append(causes, Cause{Target: k.target, Reason: k.reason, Status: k.status, Group: g, All: []ledger.RunGroup{g}})
			continue
		}
		causes[i].Group.Add(g)
		causes[i].All = append(causes[i].All, g)
	}
	for i := range causes {
		causes[i].summarize()
	}
	return causes
}

// summarize adds what is shown of the group, and the jobs of the runs.
func (c *Cause) summarize() {
	c.Runs, c.RunID, c.Since = c.Group.Count, c.Group.Newest.ID, actualTime(c.Group.First)
	for _, g := range c.All {
		c.Jobs = append(c.Jobs, g.JobID)
	}
	slices.Sort(c.Jobs)
	c.Jobs = slices.Compact(c.Jobs)
	if c.Others = max(len(c.Jobs)-jobsShown, 0); c.Others > 0 {
		c.Jobs = c.Jobs[:jobsShown]
	}
}

// Shared reports whether several jobs have the cause, and a target can be named for it.
func (c *Cause) Shared() bool { return len(c.Jobs) > 1 && c.Target != jobs.BuiltinTarget }

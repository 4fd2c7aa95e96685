package operations

import (
	"context"
	"slices"
	"time"

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

	First    time.Time    `json:"-"` // Since
	Newest   ledger.Run   `json:"-"`
	Sendable bool         `json:"-"` // one of them may still be sent under its key
	All      []ledger.Run `json:"-"`
}

// Attention is the unacknowledged dead runs by cause, the cause of the newest run first.
type Attention struct {
	Causes []Cause `json:"causes"`
	More   int     `json:"moreDead"` // runs that are in none of these causes
}

const (
	// deadLooked is how many of the newest dead runs are read for their causes.
	deadLooked  = 1000
	causesShown = 20
	jobsShown   = 10
)

// attention reads what the newest dead runs have in common.
func (s *Service) attention(ctx context.Context, dead int) (Attention, error) {
	v := Attention{Causes: []Cause{}, More: dead}
	if dead == 0 {
		return v, nil
	}
	runs, err := s.ledger.List(ctx, ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: deadLooked})
	if err != nil {
		return v, err
	}
	causes := CausesOf(runs, s.now())
	v.Causes = causes[:min(len(causes), causesShown)]
	for _, c := range v.Causes {
		v.More -= c.Runs
	}
	v.More = max(v.More, 0) // the count is older than the list
	return v, nil
}

// CausesOf groups dead runs, which come newest first, by cause.
func CausesOf(runs []ledger.Run, now time.Time) []Cause {
	type key struct {
		target string
		reason ledger.Reason
		status int
	}
	place := map[key]int{}
	causes := []Cause{}
	for _, r := range runs {
		if r.Reason == ledger.ReasonMembers {
			r.Status = 0 // of its list, which was fetched
		}
		k := key{r.Call.Target, r.Reason, r.Status}
		i, known := place[k]
		if !known {
			i = len(causes)
			place[k] = i
			causes = append(causes, Cause{Target: k.target, Reason: k.reason, Status: k.status, RunID: r.ID, Newest: r, First: r.FinishedAt})
		}
		c := &causes[i]
		c.Runs += r.Count
		c.All = append(c.All, r)
		c.Sendable = c.Sendable || !r.KeyUnsafe(now)
		if r.FinishedAt.Before(c.First) {
			c.First = r.FinishedAt
		}
	}
	for i := range causes {
		causes[i].name()
	}
	return causes
}

// name adds the jobs of the runs, and since when they die.
func (c *Cause) name() {
	for _, r := range c.All {
		c.Jobs = append(c.Jobs, r.JobID)
	}
	slices.Sort(c.Jobs)
	c.Jobs = slices.Compact(c.Jobs)
	if c.Others = len(c.Jobs) - jobsShown; c.Others > 0 {
		c.Jobs = c.Jobs[:jobsShown]
	}
	c.Others, c.Since = max(c.Others, 0), actualTime(c.First)
}

// Shared reports whether several jobs have the cause, and a target can be named for it.
func (c *Cause) Shared() bool { return len(c.Jobs) > 1 && c.Target != jobs.BuiltinTarget }

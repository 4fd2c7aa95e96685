package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// runGroup is runs of one job with one state, reason and answer.
type runGroup struct {
	Job            string
	Target         string // of a group of several jobs, which then has no Job
	Jobs           int
	State          ledger.State
	Reason         ledger.Reason
	Status         int
	Count          int
	Newest, Oldest ledger.Run // of those that were read
	// Sendable: at least one of them may still be sent under its key.
	Sendable bool
	Acts     []actLink
}

// groupRuns groups runs, which come newest first, by job and cause; the group of the
// newest run is the first.
func groupRuns(runs []ledger.Run, now time.Time) []runGroup {
	type key struct {
		job    string
		state  ledger.State
		reason ledger.Reason
		status int
	}
	place := map[key]int{}
	var groups []runGroup
	for _, r := range runs {
		if r.Reason == ledger.ReasonMembers {
			r.Status = 0 // of its list, which was fetched
		}
		k := key{r.JobID, r.State, r.Reason, r.Status}
		i, known := place[k]
		if !known {
			i = len(groups)
			place[k] = i
			groups = append(groups, runGroup{Job: r.JobID, State: r.State, Reason: r.Reason, Status: r.Status, Newest: r})
		}
		groups[i].Count += r.Count
		groups[i].Oldest = r
		groups[i].Sendable = groups[i].Sendable || !r.KeyUnsafe(now)
	}
	return groups
}

// deadLooked is how many of the unacknowledged dead runs are read for their groups, and
// deadOfMany of a job that has more.
const deadLooked, deadOfMany = 500, 20

// deadRuns are the newest unacknowledged dead runs of a job, or of all jobs if it is "",
// newest first.
func (d *Dashboard) deadRuns(ctx context.Context, jobID string, limit int) ([]ledger.Run, error) {
	return d.Ledger.List(ctx, ledger.Filter{JobID: jobID, States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: limit})
}

// deadGroups groups unacknowledged dead runs by job and cause, the group of the newest
// run first. A count is always of all such runs: those of a job of which not all were
// read are one group, without a reason, and totals has their number by job.
func deadGroups(runs []ledger.Run, totals map[string]int, now time.Time) (groups []runGroup) {
	read := map[string]int{}
	for _, r := range runs {
		read[r.JobID] += r.Count
	}
	whole := map[string]int{} // the places of the jobs' only groups
	for _, g := range groupRuns(runs, now) {
		i, known := whole[g.Job]
		switch {
		case totals[g.Job] <= read[g.Job]:
			groups = append(groups, g)
		case known:
			groups[i].Sendable = groups[i].Sendable || g.Sendable
		default:
			whole[g.Job] = len(groups)
			g.Reason, g.Status, g.Count = "", 0, totals[g.Job]
			groups = append(groups, g)
		}
	}
	return groups
}

// sharedGroups are the causes that several jobs have, such as the outage of a target, and the
// runs of no such cause.
func sharedGroups(dead []ledger.Run, now time.Time) (groups []runGroup, rest []ledger.Run) {
	for _, c := range operations.CausesOf(dead, now) {
		if !c.Shared() {
			rest = append(rest, c.All...)
			continue
		}
		groups = append(groups, runGroup{
			Target: c.Target, Jobs: len(c.Jobs) + c.Others, State: ledger.Dead, Reason: c.Reason, Status: c.Status, Count: c.Runs, Newest: c.Newest,
			Oldest:   c.All[len(c.All)-1],
			Sendable: c.Sendable,
		})
	}
	slices.SortStableFunc(rest, func(a, b ledger.Run) int {
		return cmp.Or(b.ScheduledAt.Compare(a.ScheduledAt), strings.Compare(b.ID, a.ID))
	})
	return groups, rest
}

// groupActs are the actions on the runs of a group.
func (d *Dashboard) groupActs(r *http.Request, g runGroup) []actLink {
	if g.Target == "" {
		return d.deadActs(r, g.Job, g.Reason, g.Sendable)
	}
	selection := []string{"target", g.Target, "state", string(ledger.Dead), "reason", string(g.Reason)}
	links := []actLink{{Name: "ack", Path: actPath("ack", selection...)}}
	if g.Sendable {
		links = append([]actLink{{Name: "redrive", Path: actPath("redrive", selection...)}}, links...)
	}
	return d.allowed(r, links...)
}

// deadActs are the actions on the dead runs of a job with one reason, or with any.
func (d *Dashboard) deadActs(r *http.Request, job string, reason ledger.Reason, sendable bool) []actLink {
	selection := []string{"job", job, "state", string(ledger.Dead), "reason", string(reason)}
	links := []actLink{{Name: "ack", Path: actPath("ack", selection...)}}
	if sendable {
		links = append([]actLink{{Name: "redrive", Path: actPath("redrive", selection...)}}, links...)
	}
	return d.allowed(r, links...)
}

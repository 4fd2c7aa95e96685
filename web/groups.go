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
	ledger.RunGroup
	Jobs     int  // of a cause that several jobs have, which then has no JobID
	Sendable bool // at least one of the runs may still be sent under its key
	Actions  []actionLink
}

// groupsOf adds to each group whether at least one of its runs may still be sent under its key.
func groupsOf(list []ledger.RunGroup, now time.Time) (groups []runGroup) {
	for _, g := range list {
		groups = append(groups, runGroup{RunGroup: g, Sendable: !g.KeyUnsafe(now)})
	}
	return groups
}

// deadRuns returns the newest unacknowledged dead runs of a job, or of all jobs if jobID is "", in groups. all reports
// that these are all of them: only operations.DeadLooked rows are read.
func (d *Dashboard) deadRuns(ctx context.Context, jobID string) (groups []ledger.RunGroup, all bool, err error) {
	groups, err = d.Ledger.Groups(ctx,
		ledger.Filter{JobID: jobID, States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: operations.DeadLooked})
	return groups, rowsOf(groups) < operations.DeadLooked, err
}

// rowsOf returns the number of ledger rows in groups. One row may stand for many scheduled times, which Count has.
func rowsOf(groups []ledger.RunGroup) (n int) {
	for _, g := range groups {
		n += g.Rows
	}
	return n
}

// deadGroups returns groups of unacknowledged dead runs. A count is always of all such runs. If only
// the newest runs of a job were looked at, they do not tell how many there are of each reason: the
// job is one group, without a reason, of as many runs as totals has.
func deadGroups(list []ledger.RunGroup, totals map[string]int, now time.Time) (groups []runGroup) {
	looked := map[string]int{}
	for _, g := range list {
		looked[g.JobID] += g.Count
	}
	whole := map[string]int{} // the places of the jobs' only groups
	for _, g := range groupsOf(list, now) {
		i, known := whole[g.JobID]
		switch {
		case totals[g.JobID] <= looked[g.JobID]:
			groups = append(groups, g)
		case known:
			groups[i].Sendable = groups[i].Sendable || g.Sendable
		default:
			whole[g.JobID] = len(groups)
			g.Reason, g.Status, g.Count = "", 0, totals[g.JobID]
			groups = append(groups, g)
		}
	}
	return groups
}

// sharedGroups returns a group for each cause that several jobs have, such as the outage of a target, and the rest: the
// groups of causes that one job has.
func sharedGroups(dead []ledger.RunGroup, now time.Time) (groups []runGroup, rest []ledger.RunGroup) {
	for _, c := range operations.CausesOf(dead) {
		if !c.Shared() {
			rest = append(rest, c.All...)
			continue
		}
		c.Group.JobID = ""
		groups = append(groups, runGroup{RunGroup: c.Group, Jobs: len(c.Jobs) + c.Others, Sendable: !c.Group.KeyUnsafe(now)})
	}
	// Causes are in the order of their own newest runs; groups are listed by theirs.
	slices.SortStableFunc(rest, func(a, b ledger.RunGroup) int {
		return cmp.Or(b.Newest.ScheduledAt.Compare(a.Newest.ScheduledAt), strings.Compare(b.Newest.ID, a.Newest.ID))
	})
	return groups, rest
}

// groupActions returns the actions on the dead runs of a group: those of a job, or, of a cause that
// several jobs have, those of the target.
func (d *Dashboard) groupActions(r *http.Request, g runGroup) (links []actionLink) {
	selection := []string{"job", g.JobID, "state", string(ledger.Dead), "reason", string(g.Reason)}
	if g.Jobs > 0 {
		selection[0], selection[1] = "target", g.Target
	}
	if g.Sendable {
		links = append(links, actionLink{Name: operations.Redrive, Path: actionPath(operations.Redrive, selection...)})
	}
	return d.allowed(r, append(links, actionLink{Name: operations.Ack, Path: actionPath(operations.Ack, selection...)})...)
}

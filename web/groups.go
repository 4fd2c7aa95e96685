package web

import (
	"net/http"
	"time"

	"github.com/cronce/cronce/ledger"
)

// runGroup is runs of one job with one state, reason and answer.
type runGroup struct {
	Job            string
	State          ledger.State
	Reason         ledger.Reason
	Status         int
	Count          int
	More           bool // there are more than were looked at
	Newest, Oldest ledger.Run
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
		k := key{r.JobID, r.State, r.Reason, r.Status}
		i, known := place[k]
		if !known {
			i = len(groups)
			place[k] = i
			groups = append(groups, runGroup{Job: r.JobID, State: r.State, Reason: r.Reason, Status: r.Status, Newest: r})
		}
		groups[i].Count += r.Count
		groups[i].Oldest = r
		groups[i].Sendable = groups[i].Sendable || sendable(r, now)
	}
	return groups
}

// sendable reports whether a run's key still protects its call.
func sendable(r ledger.Run, now time.Time) bool {
	return r.SendBefore.IsZero() || now.Before(r.SendBefore)
}

// deadActs are the actions on the dead runs of a job with one reason.
func (d *Dashboard) deadActs(r *http.Request, job string, reason ledger.Reason, sendable bool) []actLink {
	selection := []string{"job", job, "state", string(ledger.Dead), "reason", string(reason)}
	links := []actLink{{Name: "ack", Path: actPath("ack", selection...)}}
	if sendable {
		links = append([]actLink{{Name: "redrive", Path: actPath("redrive", selection...)}}, links...)
	}
	return d.allowed(r, links...)
}

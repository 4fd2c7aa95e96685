package web

import (
	"net/http"
	"time"

	"github.com/cronce/cronce/ledger"
)

// deadGroup is dead runs with one cause.
type deadGroup struct {
	Job    string
	Reason ledger.Reason
	Status int
	Count  int
	More   bool // there are more than were looked at
	Newest ledger.Run
	Oldest ledger.Run
	// Sendable: at least one of them may still be sent under its key.
	Sendable bool
	Acts     []actLink
}

// groupDead groups runs, which come newest first, by job and cause.
func groupDead(runs []ledger.Run, now time.Time) []deadGroup {
	type key struct {
		job    string
		reason ledger.Reason
		status int
	}
	place := map[key]int{}
	var groups []deadGroup
	for _, r := range runs {
		k := key{r.JobID, r.Reason, r.Status}
		i, known := place[k]
		if !known {
			i = len(groups)
			place[k] = i
			groups = append(groups, deadGroup{Job: r.JobID, Reason: r.Reason, Status: r.Status, Newest: r})
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

// deadActs are the acts on the dead runs of a job with one reason.
func (d *Dashboard) deadActs(r *http.Request, job string, reason ledger.Reason, sendable bool) []actLink {
	selection := []string{"job", job, "state", string(ledger.Dead), "reason", string(reason)}
	links := []actLink{{Name: "ack", Path: actPath("ack", selection...)}}
	if sendable {
		links = append([]actLink{{Name: "redrive", Path: actPath("redrive", selection...)}}, links...)
	}
	return d.allowed(r, links...)
}

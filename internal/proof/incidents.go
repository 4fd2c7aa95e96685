package proof

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// notice is a notification: what its run's ID says.
type notice struct {
	ledger.Run
	incident, version int64
	event             string
}

var noticeID = regexp.MustCompile(`~i(\d+)\.(\d+)-(opened|reminded|recovered)$`)

func noticeOf(runID string) (n notice, ok bool) {
	m := noticeID.FindStringSubmatch(runID)
	if m == nil {
		return n, false
	}
	incident, err := strconv.ParseInt(m[1], 10, 64)
	version, err2 := strconv.ParseInt(m[2], 10, 64)
	return notice{incident: incident, version: version, event: m[3]}, err == nil && err2 == nil
}

// fits reports whether a notice may be told of an incident as it is.
func (n notice) fits(i ledger.Incident) bool {
	switch n.event {
	case "recovered":
		return !i.Open()
	case "opened": // perhaps it is over
		return !i.ClosedByOperator && i.AckedAt.IsZero()
	}
	return (i.Open() || i.Reopened >= flapping) && i.AckedAt.IsZero()
}

// flapping is how often an incident that flaps was opened again.
const flapping = 2

// incidents compares what incidents count with the problems that there were.
func (c *check) incidents() {
	if c.Problems == nil {
		return
	}
	counts := map[Problems]int{}
	for _, i := range c.Incidents {
		c.tally.Incidents++
		if i.Cause == ledger.IncidentDead || i.Cause == ledger.IncidentMissed {
			counts[Problems{i.JobID, i.Cause}] += i.Count
		}
	}
	for of, n := range c.Problems {
		if counts[of] < n {
			c.add(Unopened, of.JobID, "%s: incidents count %d problems of %d", of.Cause, counts[of], n)
		}
	}
	for of, n := range counts {
		if c.Problems[of] < n {
			c.add(Baseless, of.JobID, "%s: incidents count %d problems of %d", of.Cause, n, c.Problems[of])
		}
	}
}

// notices compares what each channel was told with the incidents.
func (c *check) notices() {
	type told struct {
		job      string
		incident int64
	}
	lists := map[told][]notice{}
	for _, r := range c.rows {
		if r.Trigger != ledger.ByIncident {
			continue
		}
		n, ok := noticeOf(r.ID)
		if !ok || !slices.ContainsFunc(c.Incidents, func(i ledger.Incident) bool { return i.ID == n.incident }) {
			c.add(Baseless, r.ID, "there is no incident %d", n.incident)
		}
		c.tally.Notices++
		n.Run = r
		of := told{r.JobID, n.incident}
		lists[of] = append(lists[of], n)
	}
	for _, ch := range c.Channels {
		for _, i := range c.Incidents {
			list := lists[told{ch.JobID(), i.ID}]
			slices.SortFunc(list, func(a, b notice) int { return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.ID, b.ID)) })
			c.channel(ch, i, list)
		}
	}
}

// channel checks what one channel was told of one incident.
func (c *check) channel(ch jobs.Channel, i ledger.Incident, list []notice) {
	if len(list) > 0 && !ch.Selects(jobs.Job{ID: i.JobID}, string(i.Cause)) {
		rule := Baseless
		if i.JobID == ch.JobID() {
			rule = Echoed
		}
		c.add(rule, list[0].ID, "of %s, %s", i.JobID, i.Cause)
		return
	}
	open, last, reopened := false, notice{}, min(i.Reopened, flapping)
	for _, n := range list {
		if _, renewed := c.Renewed[last.ID]; last.ID != "" && !renewed && (!last.State.Finished() || last.FinishedAt.After(n.PlannedAt.Add(c.Back))) {
			c.add(Misled, n.ID, "planned %s, before %s ended", stamp(n.PlannedAt), last.ID)
		}
		early := n.event == "reminded" && (ch.Remind == 0 || n.ScheduledAt.Sub(last.ScheduledAt) < ch.Remind-time.Second)
		if early && reopened > 0 { // it is reminded of each time that the incident opened again
			early, reopened = false, reopened-1
		}
		if (n.event == "opened") == open || early {
			c.add(Misled, n.ID, "told after %s", stamp(last.ScheduledAt))
		}
		open, last = n.event != "recovered", n
	}
	if why := c.missing(ch, i, open, last); why != "" {
		c.add(Untold, ch.JobID(), "of incident %d (%s %s): %s; told last at %s, due at %s", i.ID, i.JobID, i.Cause, why, stamp(last.ScheduledAt),
			stamp(i.DueAt))
	}
}

// missing is what a channel should know by now, that was told last of an open problem
// or not.
func (c *check) missing(ch jobs.Channel, i ledger.Incident, open bool, last notice) string {
	const soon = time.Minute
	if last.FinishedAt.After(c.Watched.Add(-2 * soon)) {
		return "" // what follows waits for it, and is checked for each minute
	}
	past := func(at time.Time) bool { return at.Before(c.Watched.Add(-soon)) }
	over := i.ClosedAt
	if i.Reopened >= flapping && !i.ClosedByOperator {
		over = over.Add(ledger.ReopenWithin)
	}
	switch {
	case !ch.Selects(jobs.Job{ID: i.JobID}, string(i.Cause)):
	case !i.Open() && open && past(over):
		return "its end"
	case !i.Open(), !i.AckedAt.IsZero(), i.Count < ch.After, !past(i.LastAt):
	case !open:
		return "that it is open"
	case ch.Remind > 0 && past(last.ScheduledAt.Add(ch.Remind)):
		return "that it lasts"
	}
	return ""
}

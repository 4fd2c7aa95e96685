package ledger

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// about describes the changed keys in few bytes, with a hash by which a list of keys can be
// compared.
func (r *scheduleRequest) about() string {
	ids := sortedSet(r.changed)
	hash := sha256.New()
	for i, id := range ids {
		_, ids[i], _ = strings.Cut(id, ":")
		fmt.Fprintln(hash, ids[i])
	}
	return fmt.Sprintf("keys %s to %s, SHA-256 of the sorted lines %x", ids[0], ids[len(ids)-1], hash.Sum(nil))
}

// audit returns one entry: that of a schedule, or of the template for several.
func (r *scheduleRequest) audit() Audit {
	a := Audit{Action: ActionPutSchedule, JobID: r.changed[0], Count: len(r.changed), Actor: r.Actor}
	deleted := 0
	for i := range r.results {
		if r.results[i].Effect == ScheduleDeleted {
			deleted++
		}
	}
	if deleted == len(r.changed) {
		a.Action = ActionDeleteSchedule
	}
	if len(r.changed) > 1 {
		a.JobID, a.About = r.Template, r.about()
		if deleted > 0 && deleted < len(r.changed) {
			a.About += fmt.Sprintf("; deleted: %d", deleted)
		}
	}
	return a
}

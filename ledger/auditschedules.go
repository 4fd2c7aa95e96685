package ledger

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// about describes the changed keys in few bytes, with a hash by which a list of keys can be compared.
func (m *scheduleChangeTx) about() string {
	ids := sortedSet(m.changed)
	hash := sha256.New()
	for i, id := range ids {
		_, ids[i], _ = strings.Cut(id, ":")
		fmt.Fprintln(hash, ids[i])
	}
	return fmt.Sprintf("keys %s to %s, SHA-256 of the sorted lines %x", ids[0], ids[len(ids)-1], hash.Sum(nil))
}

// audit returns one entry: that of a schedule, or of the template for several.
func (m *scheduleChangeTx) audit() Audit {
	a := Audit{Action: ActionPutSchedule, JobID: m.changed[0], Count: len(m.changed), Actor: m.Actor}
	deleted := 0
	for i := range m.results {
		if m.results[i].Effect == ScheduleDeleted {
			deleted++
		}
	}
	if deleted == len(m.changed) {
		a.Action = ActionDeleteSchedule
	}
	if len(m.changed) > 1 {
		a.JobID, a.About = m.Template, m.about()
		if deleted > 0 && deleted < len(m.changed) {
			a.About += fmt.Sprintf("; deleted: %d", deleted)
		}
	}
	return a
}

package chaos

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs"
)

// definition is a job as a revision of the registry has it.
type definition struct {
	revision int
	job      jobs.Job
	since    time.Time // when the first process was started that declares it
}

// deployments is what the harness deployed, kept by the harness: the checker
// does not ask the ledger what it was told.
type deployments struct {
	known   map[string]definition // by job and hash
	without map[string]time.Time  // by job: since when there was a revision that has none
	latest  map[string]string     // by job: the hash in the latest revision
}

func newDeployments() *deployments {
	return &deployments{known: map[string]definition{}, without: map[string]time.Time{}}
}

// note adds a revision: now is right before the first process is started with it.
func (d *deployments) note(revision int, now time.Time) error {
	r, err := jobs.Parse(fmt.Sprintf("revision %d", revision), []byte(registryText(revision)))
	if err != nil {
		return err
	}
	d.latest = map[string]string{}
	for _, s := range specs {
		j, ok := r.Job(s.id)
		if !ok {
			if d.without[s.id].IsZero() {
				d.without[s.id] = now
			}
			continue
		}
		_, hash, err := j.Definition()
		if err != nil {
			return err
		}
		d.latest[s.id] = hash
		if _, ok := d.known[s.id+" "+hash]; !ok {
			d.known[s.id+" "+hash] = definition{revision, j, now}
		}
	}
	return nil
}

package jobs

import (
	"crypto/sha256"
	"reflect"

	"github.com/cronce/cronce/schedule"
)

// registered is a job of a registry. Very many jobs differ in a few fields only, so each has
// these, and shares the others.
type registered struct {
	ID, schedule, path, keyScope, description string
	body                                      any
	parsed                                    *schedule.Schedule
	shared                                    *Job // the other fields, with other jobs; never modified

	entry int               // its index among the jobs as given; builtinEntry: built in
	hash  [sha256.Size]byte // of its definition
	keyed *keyedTerms       // of a template
}

const builtinEntry = -1

func (e *registered) isTemplate() bool { return e.keyed != nil }

// job returns the job with all of its fields.
func (e *registered) job() Job {
	j := *e.shared
	j.ID, j.Schedule, j.Path, j.KeyScope, j.Description = e.ID, e.schedule, e.path, e.keyScope, e.description
	j.Body, j.schedule = e.body, e.parsed
	return j
}

// register returns what the registry keeps of a job. It shares the other fields of the last one
// with the same target, time zone and owner, if those are the same.
func (d *draft) register(j Job, entry int, keyed *keyedTerms) registered {
	e := registered{
		ID: j.ID, schedule: j.Schedule, path: j.Path, keyScope: j.KeyScope, description: j.Description, body: j.Body, parsed: j.schedule,
		entry: entry, keyed: keyed,
	}
	j.ID, j.Schedule, j.Path, j.KeyScope, j.Description, j.Body, j.schedule = "", "", "", "", "", nil, nil
	d.lastShared = j
	like := j.Target + " " + j.TargetURLEnv + " " + j.Timezone + " " + j.Owner
	if e.shared = d.sharedBy[like]; e.shared == nil || !reflect.DeepEqual(e.shared, &d.lastShared) {
		e.shared = new(j)
		if d.sharedBy == nil {
			d.sharedBy = map[string]*Job{}
		}
		d.sharedBy[like] = e.shared
	}
	return e
}

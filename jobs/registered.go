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
	rest                                      *Job // the other fields; never modified

	at    int               // its place among the jobs as given; builtinAt: built in
	hash  [sha256.Size]byte // of its definition
	keyed *keyedTerms       // of a template
}

const builtinAt = -1

func (e *registered) isTemplate() bool { return e.keyed != nil }

// job returns the job with all of its fields.
func (e *registered) job() Job {
	j := *e.rest
	j.ID, j.Schedule, j.Path, j.KeyScope, j.Description = e.ID, e.schedule, e.path, e.keyScope, e.description
	j.Body, j.schedule = e.body, e.parsed
	return j
}

// register returns what the registry keeps of a job. It shares the rest of the last one with
// the same target, time zone and owner, if that is the same.
func (d *draft) register(j Job, at int, keyed *keyedTerms) registered {
	e := registered{
		ID: j.ID, schedule: j.Schedule, path: j.Path, keyScope: j.KeyScope, description: j.Description, body: j.Body, parsed: j.schedule,
		at: at, keyed: keyed,
	}
	j.ID, j.Schedule, j.Path, j.KeyScope, j.Description, j.Body, j.schedule = "", "", "", "", "", nil, nil
	d.rest = j
	like := j.Target + " " + j.TargetURLEnv + " " + j.Timezone + " " + j.Owner
	if e.rest = d.rests[like]; e.rest == nil || !reflect.DeepEqual(e.rest, &d.rest) {
		e.rest = new(j)
		if d.rests == nil {
			d.rests = map[string]*Job{}
		}
		d.rests[like] = e.rest
	}
	return e
}

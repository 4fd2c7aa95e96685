package jobs

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/cronce/cronce/schedule"
)

// kept is a job as the registry keeps it: a third of a Job's size, since what
// the jobs of a large registry mostly have in common is there once.
type kept struct {
	id, path, keyScope string
	body               any
	schedule           *schedule.Schedule // nil: it could not be parsed
	common             *Job               // everything else
	at                 int                // its place among the jobs as given; builtinAt: built in
	hash               [sha256.Size]byte  // of its definition
}

const builtinAt = -1

// job is the whole job.
func (e *kept) job() Job {
	j := *e.common
	j.ID, j.Path, j.KeyScope, j.Body, j.schedule = e.id, e.path, e.keyScope, e.body, e.schedule
	if e.schedule != nil {
		j.Schedule = e.schedule.String()
	}
	return j
}

func byID(e kept, id string) int { return strings.Compare(e.id, id) }

// sharer finds what jobs have in common, while their registry is built.
type sharer struct {
	schedules map[timing]*schedule.Schedule
	keyScopes map[string]string
	common    map[string]*Job // by their definition
}

// timing is what a schedule is parsed from.
type timing struct {
	expr, timezone string
	dst            schedule.DST
}

func newSharer() *sharer {
	return &sharer{map[timing]*schedule.Schedule{}, map[string]string{}, map[string]*Job{}}
}

// schedule parses each expression once.
func (s *sharer) schedule(j Job) (*schedule.Schedule, error) {
	key := timing{j.Schedule, j.Timezone, j.DST}
	if known, ok := s.schedules[key]; ok {
		return known, nil
	}
	parsed, err := schedule.Parse(j.Schedule, j.Timezone, j.DST)
	if err == nil {
		s.schedules[key] = parsed
	}
	return parsed, err
}

// keep takes what is the job's own out of it, and shares the rest.
func (s *sharer) keep(j Job, at int) kept {
	e := kept{id: j.ID, path: j.Path, keyScope: s.keyScope(j.KeyScope), body: j.Body, schedule: j.schedule, at: at}
	if j.schedule != nil {
		j.Schedule = ""
	}
	j.ID, j.Path, j.KeyScope, j.Body, j.schedule = "", "", "", nil, nil
	e.common = s.rest(j)
	return e
}

func (s *sharer) keyScope(scope string) string {
	known, ok := s.keyScopes[scope]
	if !ok {
		known, s.keyScopes[scope] = scope, scope
	}
	return known
}

func (s *sharer) rest(j Job) *Job {
	key, err := json.Marshal(j)
	if err != nil {
		return &j // complained about elsewhere, so nobody keeps it
	}
	known, ok := s.common[string(key)]
	if !ok {
		known = &j
		s.common[string(key)] = known
	}
	return known
}

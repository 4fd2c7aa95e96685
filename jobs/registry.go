package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency/ttl"
	"github.com/cronce/cronce/schedule"
)

// Registry is what a cronce process runs: jobs, their targets, and how long keys live.
// It is checked, has every default applied, and never changes.
type Registry struct {
	name      string
	jobs      []registered // by id
	targets   map[string]Target
	ttls      []KeyTTL
	stores    []KeyStore
	platform  Platform
	cleanup   Cleanup
	channels  []Channel
	heartbeat Heartbeat
	version   string
	source    source
	implied   map[string]string // targets made from targetUrlEnv: the path that did
}

// registered is a job of a registry.
type registered struct {
	Job
	at   int               // its place among the jobs as given; builtinAt: built in
	hash [sha256.Size]byte // of its definition
}

const builtinAt = -1

// NewRegistry builds a registry from its entries, in any order. The same entries in
// a file give the same registry. The error is Problems: all mistakes, not just the
// first.
func NewRegistry(entries ...Entry) (*Registry, error) {
	d := &draft{report: newReport(source{}), jobs: make([]Job, 0, len(entries))} // most entries are jobs
	for _, e := range entries {
		e.enter(d)
	}
	return d.build()
}

// Name returns the registry's name.
func (r *Registry) Name() string { return r.name }

// Version identifies the set of definitions: two registries of one version
// plan the same runs.
func (r *Registry) Version() string { return r.version }

// Jobs lists every job by id, the built-in one and disabled ones included. The
// slices within a job belong to the registry; do not modify them.
func (r *Registry) Jobs() []Job {
	list := make([]Job, len(r.jobs))
	for i, j := range r.All() {
		list[i] = j
	}
	return list
}

// All yields the jobs that Jobs lists, each with its index in the list.
func (r *Registry) All() iter.Seq2[int, Job] {
	return func(yield func(int, Job) bool) {
		for i := range r.jobs {
			if !yield(i, r.jobs[i].Job) {
				return
			}
		}
	}
}

// Len returns the number of jobs. Their indexes are 0 to Len()-1, sorted by id.
func (r *Registry) Len() int { return len(r.jobs) }

// At returns the job at index i.
func (r *Registry) At(i int) Job { return r.jobs[i].Job }

// Index returns a job's index in Jobs.
func (r *Registry) Index(id string) (i int, found bool) {
	return slices.BinarySearchFunc(r.jobs, id, func(e registered, id string) int { return strings.Compare(e.ID, id) })
}

// Schedule returns the schedule of the job at index i.
func (r *Registry) Schedule(i int) *schedule.Schedule { return r.jobs[i].schedule }

// Hash returns the hash of the definition of the job at index i, as
// [Job.Definition] computes it.
func (r *Registry) Hash(i int) string { return hex.EncodeToString(r.jobs[i].hash[:]) }

// Job returns one job.
func (r *Registry) Job(id string) (Job, bool) {
	i, found := r.Index(id)
	if !found {
		return Job{}, false
	}
	return r.At(i), true
}

// Targets lists the targets by name: the declared ones, and "env:VARIABLE" for
// each variable that jobs name with targetUrlEnv and no target has.
func (r *Registry) Targets() []Target {
	var targets []Target
	for _, name := range slices.Sorted(maps.Keys(r.targets)) {
		targets = append(targets, r.targets[name])
	}
	return targets
}

// Target returns one target.
func (r *Registry) Target(name string) (Target, bool) {
	t, ok := r.targets[name]
	return t, ok
}

// TTL returns how long keys of a scope are kept, and the KeyTTL scope that decides
// this: an exact one, else the longest that ends in * and fits, else "" for
// DefaultKeyTTL.
func (r *Registry) TTL(keyScope string) (life time.Duration, pattern string) {
	lives := make(map[string]time.Duration, len(r.ttls))
	for _, k := range r.ttls {
		lives[k.Scope] = k.TTL
	}
	if pattern, ok := ttl.Match(keyScope, maps.Keys(lives)); ok {
		return lives[pattern], pattern
	}
	return DefaultKeyTTL, ""
}

// KeyTTLs lists the declared TTLs of keys, in the order of declaration.
func (r *Registry) KeyTTLs() []KeyTTL { return slices.Clone(r.ttls) }

// KeyStores lists what the nightly purge cleans, in the order of declaration.
func (r *Registry) KeyStores() []KeyStore { return slices.Clone(r.stores) }

// Platform returns how much AWS may add to the age of a call; 0 is none.
func (r *Registry) Platform() Platform { return r.platform }

// Cleanup returns the configuration of the nightly purge.
func (r *Registry) Cleanup() Cleanup { return r.cleanup }

// JobProblem returns a Problem with a job's field ("keyScope", "retry.horizon"),
// with the place of the field, or of the job where the field has its default.
func (r *Registry) JobProblem(jobID, field, code, message string) Problem {
	path := "" // the built-in job's: the file
	if i, found := r.Index(jobID); found && r.jobs[i].at != builtinAt {
		path = jobPath(r.jobs[i].at)
	}
	at := r.source.at(path + "." + field)
	return Problem{
		File: r.source.file, Line: at.line, Column: at.column,
		Job: jobID, Code: code, Message: message,
	}
}

// Warnings returns problems that do not make the registry invalid: enabled jobs
// that have no scheduled time after now.
func (r *Registry) Warnings(now time.Time) Problems {
	found := Problems{}
	for i, j := range r.All() {
		if !j.Disabled && r.Schedule(i).Next(now).IsZero() {
			found = append(found, r.JobProblem(j.ID, "schedule", CodeNeverAgain, fmt.Sprintf(
				"the schedule %s has no scheduled time after now: the job never runs again; set a later time, or remove or disable the job", j.Schedule)))
		}
	}
	found.Sort()
	return found
}

// KeyStoreProblem returns a Problem with the address of the key store i, in the order
// of KeyStores, with the place of the field that names its variable.
func (r *Registry) KeyStoreProblem(i int, code, message string) Problem {
	found := newReport(r.source)
	found.add(fmt.Sprintf("keyStores[%d].urlEnv", i), code, "%s", message)
	return found.problems[0]
}

// hash hashes each job's definition, and all of those that run.
func (r *Registry) hash() error {
	sum := sha256.New()
	for i, j := range r.All() {
		body, err := j.define()
		if err != nil {
			return err
		}
		r.jobs[i].hash = sha256.Sum256(body)
		if !j.Disabled {
			fmt.Fprintln(sum, r.Hash(i))
		}
	}
	r.version = hex.EncodeToString(sum.Sum(nil))
	return nil
}

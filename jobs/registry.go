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
	"github.com/cronce/cronce/jobs/internal/field"
	"github.com/cronce/cronce/schedule"
)

// Registry holds what a cronce process runs: jobs, their targets, and how long keys
// live. It is valid, has every default applied, and is immutable.
type Registry struct {
	name      string
	jobs      []registered // by id
	templates []registered // by id
	targets   map[string]Target
	ttls      []KeyTTL
	stores    []KeyStore
	platform  Platform
	cleanup   Cleanup
	channels  []Channel
	heartbeat Heartbeat
	version   string
	file      string
	places    field.Places
	implied   map[string]string // targets made from targetUrlEnv: the path that did
}

// NewRegistry builds a registry from its entries, in any order. The same entries in a
// file give the same registry. The error is a Problems with all mistakes, not only the
// first.
func NewRegistry(entries ...Entry) (*Registry, error) {
	d := &draft{report: newReport("", nil), jobs: make([]registered, 0, len(entries)+1)} // most entries are jobs
	for _, e := range entries {
		e.enter(d)
	}
	return d.build()
}

// Name returns the registry's name.
func (r *Registry) Name() string { return r.name }

// Version returns a hash of the definitions of all enabled jobs and templates. Two registries with
// the same version plan the same runs.
func (r *Registry) Version() string { return r.version }

// Jobs returns all jobs, sorted by ID, with the built-in and the disabled ones. The
// slices and maps in a job belong to the registry; do not modify them.
func (r *Registry) Jobs() []Job {
	list := make([]Job, len(r.jobs))
	for i, j := range r.All() {
		list[i] = j
	}
	return list
}

// All yields the jobs that Jobs returns, each with its index.
func (r *Registry) All() iter.Seq2[int, Job] {
	return func(yield func(int, Job) bool) {
		for i := range r.jobs {
			if !yield(i, r.At(i)) {
				return
			}
		}
	}
}

// JobsAndTemplates yields all that makes calls: the jobs that All yields, then the templates.
func (r *Registry) JobsAndTemplates() iter.Seq[Job] {
	return func(yield func(Job) bool) {
		for _, list := range [][]registered{r.jobs, r.templates} {
			for i := range list {
				if !yield(list[i].job()) {
					return
				}
			}
		}
	}
}

// Len returns the number of jobs. Their indexes are 0 to Len()-1, sorted by ID.
func (r *Registry) Len() int { return len(r.jobs) }

// Empty reports whether the registry has no templates, and no jobs but the built-in one.
func (r *Registry) Empty() bool { return r.Len() == 1 && len(r.templates) == 0 }

// IDs returns the sorted IDs of all jobs.
func (r *Registry) IDs() []string {
	ids := make([]string, len(r.jobs))
	for i := range r.jobs {
		ids[i] = r.jobs[i].ID
	}
	return ids
}

// ID returns the ID of the job at index i of Jobs.
func (r *Registry) ID(i int) string { return r.jobs[i].ID }

// At returns the job at index i of Jobs.
func (r *Registry) At(i int) Job { return r.jobs[i].job() }

// Index returns the index in Jobs of the job with an ID. If there is none, it returns
// the index at which that job would be, and false.
func (r *Registry) Index(id string) (i int, found bool) {
	return indexOf(r.jobs, id)
}

func indexOf(sorted []registered, id string) (int, bool) {
	return slices.BinarySearchFunc(sorted, id, func(e registered, id string) int { return strings.Compare(e.ID, id) })
}

// scheduleAt returns the schedule of the job at index i.
func (r *Registry) scheduleAt(i int) *schedule.Schedule { return r.jobs[i].parsed }

// Hash returns the hash of the definition of the job at index i, as
// [Job.Definition] computes it.
func (r *Registry) Hash(i int) string { return hex.EncodeToString(r.jobs[i].hash[:]) }

// Definition is the definition of a job or template, as [Job.Definition] and
// [Template.Definition] return it.
type Definition struct {
	JobID, Hash string
	Body        []byte
}

func (e *registered) definition() Definition {
	body, _ := e.job().define(e.isTemplate()) // hash has seen its error
	return Definition{e.ID, hex.EncodeToString(e.hash[:]), body}
}

// Definitions returns the definitions of the enabled jobs and templates, in the order of their IDs.
func (r *Registry) Definitions() iter.Seq[Definition] {
	return func(yield func(Definition) bool) {
		jobs, templates := r.jobs, r.templates
		for len(jobs) > 0 || len(templates) > 0 {
			next := &jobs
			if len(jobs) == 0 || len(templates) > 0 && templates[0].ID < jobs[0].ID {
				next = &templates
			}
			if e := &(*next)[0]; !e.shared.Disabled && !yield(e.definition()) {
				return
			}
			*next = (*next)[1:]
		}
	}
}

// Definition returns the definition of the job or template with an ID.
func (r *Registry) Definition(id string) (d Definition, found bool) {
	list := r.jobs
	i, found := r.Index(id)
	if !found {
		list = r.templates
		if i, found = indexOf(list, id); !found {
			return Definition{}, false
		}
	}
	return list[i].definition(), true
}

// Job returns the job with an ID.
func (r *Registry) Job(id string) (Job, bool) {
	i, found := r.Index(id)
	if !found {
		return Job{}, false
	}
	return r.At(i), true
}

// Targets returns all targets, sorted by name: the declared ones, those of channels and
// heartbeats, and one named "env:VARIABLE" for each variable that jobs name with
// TargetURLEnv and no declared target has.
func (r *Registry) Targets() []Target {
	var targets []Target
	for _, name := range slices.Sorted(maps.Keys(r.targets)) {
		targets = append(targets, r.targets[name])
	}
	return targets
}

// Target returns the target with a name.
func (r *Registry) Target(name string) (Target, bool) {
	t, ok := r.targets[name]
	return t, ok
}

// TTL returns how long keys of a scope are kept, and the Scope of the KeyTTL that
// decides it: the scope itself, or else the longest prefix that matches. The pattern is
// empty if no KeyTTL matches and DefaultKeyTTL applies.
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

// KeyTTLs returns the declared TTLs of keys, in the order of declaration.
func (r *Registry) KeyTTLs() []KeyTTL { return slices.Clone(r.ttls) }

// KeyStores returns the declared key stores, in the order of declaration.
func (r *Registry) KeyStores() []KeyStore { return slices.Clone(r.stores) }

// Platform returns the limits of late delivery by AWS.
func (r *Registry) Platform() Platform { return r.platform }

// Cleanup returns the configuration of the nightly purge.
func (r *Registry) Cleanup() Cleanup { return r.cleanup }

// WithoutPlaces returns the registry without the lines and columns of its file, which take more
// memory than its jobs: for a registry that is checked. Problems that are found later have none.
func (r *Registry) WithoutPlaces() *Registry {
	c := *r
	c.places = nil
	return &c
}

// JobProblem returns a Problem about a field of a job, such as "retry.horizon". It has
// the line of the field, or of the job if the field has its default.
func (r *Registry) JobProblem(jobID, field, code, message string) Problem {
	path := "" // the built-in job's: the file
	if i, found := r.Index(jobID); found && r.jobs[i].entry != builtinEntry {
		path = jobPath(r.jobs[i].entry)
	}
	for _, t := range r.templates {
		if t.ID == jobID {
			path = jobPath(t.entry)
		}
	}
	at := r.places.At(path + "." + field)
	return Problem{
		File: r.file, Line: at.Line, Column: at.Column,
		Job: jobID, Code: code, Message: message,
	}
}

// KeyStoreProblem returns a Problem about the address of the key store at index i of
// KeyStores. It has the line of the field that names its variable.
func (r *Registry) KeyStoreProblem(i int, code, message string) Problem {
	found := newReport(r.file, r.places)
	found.Add(fmt.Sprintf("keyStores[%d].urlEnv", i), code, "%s", message)
	return found.found()[0]
}

// hash hashes each definition, and all of those that run.
func (r *Registry) hash() error {
	sum := sha256.New()
	for _, list := range [][]registered{r.jobs, r.templates} {
		for i := range list {
			e := &list[i]
			body, err := e.job().define(e.isTemplate())
			if err != nil {
				return err
			}
			e.hash = sha256.Sum256(body)
			if !e.shared.Disabled {
				fmt.Fprintln(sum, hex.EncodeToString(e.hash[:]))
			}
		}
	}
	r.version = hex.EncodeToString(sum.Sum(nil))
	return nil
}

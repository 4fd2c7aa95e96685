package importer

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
)

// builder collects what the files say.
type builder struct {
	options     Options
	targets     []*target
	targetNames map[string]int    // the last number behind each name
	variables   map[string]string // what each variable to set holds, by its name
	origins     map[string]string // what tells the values of a variable apart; holds secrets
	jobs        []job
	ids         map[string]int
	locks       map[string][]Difference // places of the jobs that share a lock file
	entries     map[string]string       // place of each entry that has a name of its own in the source
	differences []Difference
	refused     int
}

// job is one entry of the registry.
type job struct {
	id, schedule, timezone, dst string
	target                      *target
	method, path, body          string
	headers                     map[string]string // harmless ones, with their values
	description, owner          string
	labels                      map[string]string
	timeout, spread             time.Duration
	backoff                     []time.Duration
	hasBackoff                  bool
	overlap, catchUp            string
	catchUpWindow               time.Duration
	disabled                    bool
	file, called                string // where it is from, and its name there, for its comment
	line                        int
}

// entry is one entry of a source while it is read.
type entry struct {
	file        string
	line        int
	name        string // what its id is made of
	notes       []note
	job         job
	call        call
	lock        lock
	origin      string // its full name in the source, if it has one
	placeholder string // why the call itself is not known; the job is then disabled
	receiver    string // what a placeholder stands for, such as a function; "" if it is the entry's own
}

type note struct {
	aspect Aspect
	text   string
}

func (e *entry) note(aspect Aspect, format string, args ...any) {
	e.notes = append(e.notes, note{aspect, fmt.Sprintf(format, args...)})
}

// place returns the entry's file and line.
func (e *entry) place() string { return Difference{File: e.file, Line: e.line}.Place() }

// noteOverlap says that runs of the job may overlap, as those of its source do.
func (e *entry) noteOverlap() {
	e.note(Overlaps, "as in the source, a run begins while the last one still works (overlap: allow); the default is skip")
}

// noRetries says that the job does not retry, as its source.
func (e *entry) noRetries() {
	e.retry(0, 0, 0)
	e.note(Retries, "the source does not retry, so neither does the job; remove retry once the target applies each Idempotency-Key once")
}

// refuse records an entry that gets no job, and why.
func (b *builder) refuse(e *entry, err error) {
	b.refused++
	why := err.Error()
	if name := slug(e.name); name != "" && !looksSecret(e.name) {
		why = name + ": " + why
	}
	b.add(Difference{File: e.file, Line: e.line, Aspect: NotImported, Text: why})
}

func (b *builder) add(d Difference) { b.differences = append(b.differences, d) }

// take enters an entry that was read, or refuses one that could not be.
func (b *builder) take(e *entry, err error) {
	if at := b.entries[e.origin]; err == nil && e.origin != "" && at != "" {
		err = fmt.Errorf("the same entry as at %s", at)
	}
	if err != nil {
		b.refuse(e, err)
		return
	}
	if b.enter(e) != "" {
		b.entries[e.origin] = e.place()
	}
}

// maxJobs is more than a registry file has room for.
const maxJobs = 10_000

// enter makes a job of a complete entry and returns its ID, or refuses it.
func (b *builder) enter(e *entry) (id string) {
	if len(b.jobs) == maxJobs { // do not check more: the import fails
		b.refuse(e, errors.New("a registry has no room for so many jobs"))
		return ""
	}
	j, t, err := b.build(e)
	if err == nil {
		err = b.validate(j, t)
	}
	if err != nil {
		b.refuse(e, err)
		return ""
	}
	// The job is in the registry now. A refused job leaves no target and no variable.
	if b.targetNames[t.name] == 0 {
		b.targetNames[t.name] = 1
		b.targets = append(b.targets, t)
	}
	for name, holds := range t.variables() {
		b.variables[name] = holds
	}
	if e.name != j.id && e.name != "" && !looksSecret(e.name) { // the comment repeats it
		j.called = " " + e.name
	}
	b.ids[j.id] = 1
	b.jobs = append(b.jobs, j)
	for _, n := range e.notes {
		b.add(Difference{File: e.file, Line: e.line, Job: j.id, Aspect: n.aspect, Text: n.text})
	}
	return j.id
}

// build makes a job of an entry, and its target. Both are in the registry only once enter has found them
// valid.
func (b *builder) build(e *entry) (job, *target, error) {
	j := e.job
	j.file, j.line = e.file, e.line
	j.dst = cmp.Or(j.dst, "once")
	if e.placeholder != "" {
		// A POST with a path keeps the registry valid until a person completes the job.
		e.note(Call, "the job is disabled: %s; set its target, method, path and body, and remove enabled: false", e.placeholder)
		j.disabled, j.method = true, "POST"
		j.id = b.unique(cmp.Or(slug(e.name), "job"), b.ids)
		j.target = b.placeholderTarget(e, j.id)
		j.path = "/" + j.target.name
		var err error
		if j.body, err = e.call.jsonBody(); err != nil {
			e.note(Body, "the body of the source is not taken over: %v", err)
		}
		return j, j.target, nil
	}
	at, err := e.call.endpoint()
	if err != nil {
		return j, nil, err
	}
	j.method, j.path, j.headers = e.call.method, at.path, e.call.harmless
	if j.body, err = e.call.jsonBody(); err != nil {
		return j, nil, err
	}
	e.noteCall()
	if j.timeout = e.call.timeout; j.timeout == 0 {
		e.note(Timeout, "the source sets no time limit for a call; cronce ends an attempt after 30s")
	}
	// An entry without a name, such as a line of a crontab, is named after its path.
	route, _, _ := strings.Cut(at.path, "?")
	id := cmp.Or(slug(e.name), slug(path.Base(strings.TrimSuffix(route, "/"))), "job")
	j.id = b.unique(id, b.ids)
	j.target = b.targetFor(e, at)
	return j, j.target, nil
}

// noteCall notes what every imported call does differently.
func (e *entry) noteCall() {
	c := e.call
	noted := slices.ContainsFunc(e.notes, func(n note) bool { return n.aspect == Body })
	if !c.hasData && !noted && c.method != "GET" && c.method != "HEAD" {
		e.note(Body, "the source sends no body; cronce sends {jobId, runId, scheduledAt} as JSON")
	}
	if c.hasData && !c.jsonType {
		e.note(Headers, "Content-Type is application/json; the source does not set it")
	}
}

// validate reads the job as a registry of its own, so that whatever the source holds, the
// whole registry is valid.
func (b *builder) validate(j job, t *target) error {
	alone := &builder{options: Options{Name: "imported"}, targets: []*target{t}, jobs: []job{j}}
	_, err := jobs.Parse("", []byte(alone.render("")))
	if problems, is := errors.AsType[jobs.Problems](err); is && len(problems) > 0 {
		return errors.New(problems[0].Message)
	}
	return err
}

// manyAlike is the number of jobs with one call from which they look like schedules of customers.
const manyAlike = 20

// noteAlike says that jobs which differ by their schedules and bodies alone may be
// schedules that an application makes.
func (b *builder) noteAlike() {
	alike := map[string]int{}
	call := func(j job) string { return j.target.name + " " + j.method + " " + j.path }
	for _, j := range b.jobs {
		alike[call(j)]++
	}
	for _, j := range b.jobs {
		if n := alike[call(j)]; n >= manyAlike {
			b.add(Difference{File: j.file, Line: j.line, Job: j.id, Aspect: Call, Text: fmt.Sprintf("%d jobs make the call of this one; if "+
				"each is of a customer, write one job with keyed instead, and make their schedules at run time with cronce schedules "+
				"import (docs/schedules.md)", n)})
			alike[call(j)] = 0 // said once, at the first of them
		}
	}
}

// unique adds a number to a name that is taken. It counts up in taken, so that thousands of
// entries of one name take no time.
func (b *builder) unique(name string, taken map[string]int) string {
	free := name
	for taken[free] > 0 {
		taken[name]++
		free = fmt.Sprintf("%s-%d", name, taken[name])
	}
	return free
}

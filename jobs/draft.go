package jobs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
	"github.com/cronce/cronce/schedule"
)

// draft is a registry in the making: its entries as given, and the problems
// found so far.
type draft struct {
	*report
	names     []Name
	targets   []Target
	jobs      []registered
	ttls      []KeyTTL
	stores    []KeyStore
	platforms []Platform
	cleanups  []Cleanup

	defaults   []Defaults
	alarms     []Alarm
	channels   []Channel
	heartbeats []Heartbeat

	declared   map[string]Target
	implied    map[string]string
	parsed     map[timing]*schedule.Schedule
	gaps       map[timing]gap
	sharedBy   map[string]*Job // see register
	lastShared Job             // of the last one
	registry   *Registry       // by build, valid or not
}

// build checks everything, applies the defaults and makes the registry.
func (d *draft) build() (*Registry, error) {
	d.implied, d.parsed, d.gaps = map[string]string{}, map[timing]*schedule.Schedule{}, map[timing]gap{}
	r := &Registry{file: d.file, places: d.Places, implied: d.implied, ttls: d.ttls, stores: d.stores}
	d.registry = r
	r.name = d.checkName()
	d.checkTargets()
	d.checkTTLs()
	d.checkStores()
	r.platform = d.checkPlatform()
	r.cleanup = d.checkCleanup()
	defaults := d.checkDefaults()
	d.checkJobs(r.platform, defaults)
	purge := d.builtin(r.cleanup, r.platform, defaults)
	r.channels, r.heartbeat = d.checkChannels(), d.checkHeartbeat()
	r.targets = d.declared
	d.nameJobs()
	if err := d.err(); err != nil {
		return nil, err
	}
	r.templates = templatesOf(d.jobs)
	r.jobs = append(slices.DeleteFunc(d.jobs, func(e registered) bool { return e.isTemplate() }), purge)
	sortByID(r.jobs)
	return r, r.hash()
}

func templatesOf(all []registered) (templates []registered) {
	for _, e := range all {
		if e.isTemplate() {
			templates = append(templates, e)
		}
	}
	sortByID(templates)
	return templates
}

func sortByID(list []registered) {
	sort.Slice(list, func(i, k int) bool { return list[i].ID < list[k].ID })
}

// nameJobs says, if there are problems, whose they are.
func (d *draft) nameJobs() {
	if len(d.Problems) == 0 {
		return
	}
	for i, j := range d.jobs {
		d.jobIDs[jobPath(i)] = j.ID
	}
}

func jobPath(at int) string { return fmt.Sprintf("jobs[%d]", at) }

func (d *draft) checkName() string {
	if len(d.names) > 1 {
		d.Add("name", codeDuplicateName, "the registry has two names, %q and %q; keep one", d.names[0], d.names[1])
	}
	if len(d.names) == 0 || d.names[0] == "" {
		d.Add("name", codeMissingName,
			"the registry has no name; add one, e.g. `name: acme-platform`, and never change it: targets know the caller by it")
		return ""
	}
	name := string(d.names[0])
	if len(name) > 64 || !validToken(name) || punctuation(name[0]) {
		d.Add("name", codeBadName,
			"invalid name %s; a name has 1 to 64 letters, digits, dots, dashes and underscores, and starts with a letter or digit",
			field.Quoted(name))
	}
	return name
}

func (d *draft) checkTargets() {
	d.declared = map[string]Target{}
	for _, t := range d.targets {
		path := targetPath(t.Name)
		if _, twice := d.declared[t.Name]; twice {
			d.Add(path, codeDuplicateName, "duplicate target %s; rename one", field.Quoted(t.Name))
		}
		d.checkEntryName(path, "target", t.Name)
		field.Object(&t).Check(d.Report, path)
		d.checkVariable(path+".urlEnv", "urlEnv", t.URLEnv, "the variable that holds the base URL")
		t.Auth = d.checkAuth(path+".auth", t.Auth)
		d.checkTLS(path+".tls", t.TLS)
		d.checkKey(path+".key", t)
		d.declared[t.Name] = t
	}
}

func targetPath(name string) string { return field.Join("targets", name) }

// checkEntryName checks the name of a target, a key store or a channel. It has the form of a job's ID.
func (d *draft) checkEntryName(path, what, name string) {
	switch {
	case !ValidJobID(name):
		d.Add(path, codeBadName,
			"invalid %s name %s; a name has 1 to 64 of a-z, 0-9, dot, dash and underscore, and starts with a letter or digit", what,
			field.Quoted(name))
	case name == BuiltinTarget && what == "target":
		d.Add(path, codeBadName, "the target name %q is reserved for built-in jobs; choose another", name)
	}
}

// checkVariable never shows the value: users sometimes paste the secret itself into the field.
func (r *report) checkVariable(path, field, name, holds string) {
	switch {
	case name == "":
		r.Add(path, codeMissingField, "%s is missing; set it to the name of %s", field, holds)
	case !validVariable(name):
		r.Add(path, codeBadVariable, "%s must be the name of %s, e.g. ACME_URL, not its value (not shown: it may be a secret)", field, holds)
	}
}

func validVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := upper(c) || 'a' <= c && c <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 128
}

func (d *draft) checkTTLs() {
	seen := map[string]int{}
	for i, k := range d.ttls {
		path := fmt.Sprintf("keyTTLs[%d]", i)
		first, twice := seen[k.Scope]
		field.Object(&k).Check(d.Report, path)
		switch {
		case k.Scope == "":
			d.Add(path+".scope", codeMissingField, "scope is missing; set it to a key scope, or to a prefix followed by *")
		case !validKeyScope(strings.TrimSuffix(k.Scope, "*")) && k.Scope != "*":
			d.Add(path+".scope", codeBadScope,
				"invalid scope %s; a scope is visible ASCII, at most %d characters, with * only at its end", field.Quoted(k.Scope), maxKeyScope)
		case twice:
			d.Add(path+".scope", codeDuplicateScope,
				"duplicate scope %q (first defined %s); keep one", k.Scope, d.where(fmt.Sprintf("keyTTLs[%d].scope", first)))
		}
		seen[k.Scope] = i
		if k.TTL == 0 {
			d.Add(path+".ttl", codeMissingField, "ttl is missing; set it to how long the target keeps keys of this scope, e.g. 168h")
		}
	}
}

func (d *draft) checkStores() {
	seen := map[string]bool{}
	for i, s := range d.stores {
		path := fmt.Sprintf("keyStores[%d]", i)
		d.checkEntryName(path+".name", "key store", s.Name)
		if seen[s.Name] {
			d.Add(path+".name", codeDuplicateName, "duplicate key store %q; rename one", s.Name)
		}
		seen[s.Name] = true
		d.checkVariable(path+".urlEnv", "urlEnv", s.URLEnv, "the variable that holds the database's URL")
		if s.Schema != "" && !validVariable(s.Schema) {
			d.Add(path+".schema", codeBadName,
				"invalid schema %s; a schema has letters, digits and underscores, and does not start with a digit", field.Quoted(s.Schema))
		}
	}
}

func (d *draft) checkPlatform() Platform {
	p := only(d, "platform", d.platforms)
	field.Object(&p).Check(d.Report, "platform")
	setDefault(&p.EventAge, time.Hour)
	setDefault(&p.LambdaEventAge, time.Hour)
	return Platform{max(p.EventAge, 0), max(p.LambdaEventAge, 0), max(p.QueueAge, 0)}
}

func (d *draft) checkCleanup() Cleanup {
	c := only(d, "cleanup", d.cleanups)
	field.Object(&fileCleanup{Cleanup: c}).Check(d.Report, "cleanup")
	setDefault(&c.Schedule, "30 3 * * *")
	setDefault(&c.Timeout, time.Hour)
	setDefault(&c.LedgerRetention, 30*24*time.Hour)
	setDefault(&c.DeadRetention, 90*24*time.Hour)
	setDefault(&c.AuditRetention, 365*24*time.Hour)
	return c
}

// checkDefaults reports what is wrong with them once, instead of in each job.
func (d *draft) checkDefaults() Defaults {
	defaults := only(d, "defaults", d.defaults)
	byAlarm := only(d, "alarm", d.alarms)
	field.Object(&byAlarm).Check(d.Report, "alarm")
	d.checkAlarm("alarm", byAlarm)
	field.Object(&defaults.Alarm).Inherit(field.Object(&byAlarm))
	before := len(d.Problems)
	j := Job(defaults)
	field.Object(&defaults).Check(d.Report, "defaults")
	d.checkAlarm("defaults.alarm", j.Alarm)
	d.checkContinuation("defaults.retry", j.Retry)
	if j.Target != "" || j.TargetURLEnv != "" {
		d.checkTarget("defaults", j)
	}
	d.checkJobHeaders("defaults.headers", j, nil)
	if _, err := schedule.Parse("@daily", cmp.Or(j.Timezone, "UTC"), schedule.DSTOnce); err != nil {
		d.Add("defaults.timezone", codeBadTimezone, "%v", err)
	}
	if len(d.Problems) > before {
		d.Ignore("jobs")
	}
	return defaults
}

// builtin registers the nightly purge. It has the owner and the labels of the defaults, so that channels
// select it as other jobs.
func (d *draft) builtin(c Cleanup, p Platform, defaults Defaults) registered {
	j := purgeJob(c).withDefaults(p)
	setDefault(&j.Owner, defaults.Owner)
	j.Labels = maps.Clone(defaults.Labels)
	j.schedule = d.parseSchedule("cleanup", j)
	return d.register(j, builtinEntry, nil)
}

// only takes the one entry of its kind, or the zero entry.
func only[E any](d *draft, path string, entries []E) (entry E) {
	if len(entries) > 1 {
		d.Add(path, field.DuplicateField, "%s is given twice; keep one", path)
	}
	if len(entries) > 0 {
		entry = entries[0]
	}
	return entry
}

// where returns "on line N" in a file, else the path.
func (d *draft) where(path string) string {
	if line := d.At(path).Line; line > 0 {
		return fmt.Sprintf("on line %d", line)
	}
	return "at " + path
}

func (d *draft) targetNames() []string {
	names := make([]string, len(d.targets))
	for i, t := range d.targets {
		names[i] = t.Name
	}
	return names
}

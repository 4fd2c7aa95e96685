package jobs

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

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

	declared map[string]Target
	implied  map[string]string
	parsed   map[timing]*schedule.Schedule
	gaps     map[timing]gap
	made     *Registry // by build, sound or not
}

// build checks everything, applies the defaults and makes the registry.
func (d *draft) build() (*Registry, error) {
	d.implied, d.parsed, d.gaps = map[string]string{}, map[timing]*schedule.Schedule{}, map[timing]gap{}
	r := &Registry{source: d.source, implied: d.implied, ttls: d.ttls, stores: d.stores}
	d.made = r
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
	r.jobs = append(slices.DeleteFunc(d.jobs, registered.isTemplate), purge)
	sortByID(r.jobs)
	return r, r.hash()
}

func (e registered) isTemplate() bool { return e.keyed != nil }

func templatesOf(all []registered) (templates []registered) {
	for _, e := range all {
		if e.isTemplate() {
			templates = append(templates, e)
		}
	}
	sortByID(templates)
	return templates
}

// sortByID adds less to a binary than a generic sort.
func sortByID(list []registered) {
	sort.Slice(list, func(i, k int) bool { return list[i].ID < list[k].ID })
}

// nameJobs says, if there are problems, whose they are.
func (d *draft) nameJobs() {
	if len(d.problems) == 0 {
		return
	}
	for i, j := range d.jobs {
		d.jobIDs[jobPath(i)] = j.ID
	}
}

func jobPath(at int) string { return fmt.Sprintf("jobs[%d]", at) }

func (d *draft) checkName() string {
	if len(d.names) > 1 {
		d.add("name", codeDuplicateName, "the registry has two names, %q and %q; keep one", d.names[0], d.names[1])
	}
	if len(d.names) == 0 || d.names[0] == "" {
		d.add("name", codeMissingName, "the registry has no name; add one, e.g. `name: acme-platform`, and never change it: targets know the caller by it")
		return ""
	}
	name := string(d.names[0])
	if len(name) > 64 || !validToken(name) || punctuation(name[0]) {
		d.add("name", codeBadName, "invalid name %s; a name has 1 to 64 letters, digits, dots, dashes and underscores, and starts with a letter or digit", quoted(name))
	}
	return name
}

func (d *draft) checkTargets() {
	d.declared = map[string]Target{}
	for _, t := range d.targets {
		path := targetPath(t.Name)
		if _, twice := d.declared[t.Name]; twice {
			d.add(path, codeDuplicateName, "duplicate target %s; rename one", quoted(t.Name))
		}
		d.checkEntryName(path, "target", t.Name)
		d.checkVariable(path+".urlEnv", "urlEnv", t.URLEnv, "the variable that holds the base URL")
		t.Auth = d.checkAuth(path+".auth", t.Auth)
		d.checkTLS(path+".tls", t.TLS)
		d.atLeast(path+".maxInFlight", t.MaxInFlight, 0)
		d.checkKey(path+".key", t)
		d.between(path+".keepAnswers", t.KeepAnswers, 0, maxKept)
		d.declared[t.Name] = t
	}
}

func targetPath(name string) string { return join("targets", name) }

// checkEntryName: targets and key stores have names like job ids.
func (d *draft) checkEntryName(path, what, name string) {
	switch {
	case !ValidJobID(name):
		d.add(path, codeBadName, "invalid %s name %s; a name has 1 to 64 of a-z, 0-9, dot, dash and underscore, and starts with a letter or digit", what, quoted(name))
	case name == BuiltinTarget && what == "target":
		d.add(path, codeBadName, "the target name %q is reserved for built-in jobs; choose another", name)
	}
}

// checkVariable never repeats the value: who mistakes the field writes the
// secret itself into it.
func (d *draft) checkVariable(path, field, name, holds string) {
	switch {
	case name == "":
		d.add(path, codeMissingField, "%s is missing; set it to the name of %s", field, holds)
	case !validVariable(name):
		d.add(path, codeBadVariable, "%s must be the name of %s, e.g. ACME_URL, not its value (not shown: it may be a secret)", field, holds)
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
		switch {
		case k.Scope == "":
			d.add(path+".scope", codeMissingField, "scope is missing; set it to a key scope, or to a prefix followed by *")
		case !validKeyScope(strings.TrimSuffix(k.Scope, "*")) && k.Scope != "*":
			d.add(path+".scope", codeBadScope, "invalid scope %s; a scope is visible ASCII, at most %d characters, with * only at its end", quoted(k.Scope), maxKeyScope)
		case twice:
			d.add(path+".scope", codeDuplicateScope, "duplicate scope %q (first defined %s); keep one", k.Scope, d.where(fmt.Sprintf("keyTTLs[%d].scope", first)))
		}
		seen[k.Scope] = i
		if k.TTL == 0 {
			d.add(path+".ttl", codeMissingField, "ttl is missing; set it to how long the target keeps keys of this scope, e.g. 168h")
		}
		d.between(path+".ttl", k.TTL, 0, maxAge)
	}
}

func (d *draft) checkStores() {
	seen := map[string]bool{}
	for i, s := range d.stores {
		path := fmt.Sprintf("keyStores[%d]", i)
		d.checkEntryName(path+".name", "key store", s.Name)
		if seen[s.Name] {
			d.add(path+".name", codeDuplicateName, "duplicate key store %q; rename one", s.Name)
		}
		seen[s.Name] = true
		d.checkVariable(path+".urlEnv", "urlEnv", s.URLEnv, "the variable that holds the database's URL")
		if s.Schema != "" && !validVariable(s.Schema) {
			d.add(path+".schema", codeBadName, "invalid schema %s; a schema has letters, digits and underscores, and does not start with a digit", quoted(s.Schema))
		}
	}
}

func (d *draft) checkPlatform() Platform {
	p := only(d, "platform", d.platforms)
	return Platform{
		EventAge:       d.age("platform.eventAge", p.EventAge, time.Hour),
		LambdaEventAge: d.age("platform.lambdaEventAge", p.LambdaEventAge, time.Hour),
		QueueAge:       d.age("platform.queueAge", p.QueueAge, 0),
	}
}

// age applies Platform's rule: zero means the default, and a negative age means 0.
func (d *draft) age(path string, age, byDefault time.Duration) time.Duration {
	if age == 0 {
		return byDefault
	}
	d.between(path, max(age, 0), 0, maxWait)
	return max(age, 0)
}

func (d *draft) checkCleanup() Cleanup {
	c := only(d, "cleanup", d.cleanups)
	setDefault(&c.Schedule, "30 3 * * *")
	setDefault(&c.Timeout, time.Hour)
	setDefault(&c.LedgerRetention, 30*24*time.Hour)
	setDefault(&c.DeadRetention, 90*24*time.Hour)
	setDefault(&c.AuditRetention, 365*24*time.Hour)
	d.between("cleanup.timeout", c.Timeout, 0, maxWait)
	d.between("cleanup.ledgerRetention", c.LedgerRetention, 0, maxAge)
	// What a person must see is not gone before the next day.
	d.between("cleanup.deadRetention", c.DeadRetention, 24*time.Hour, maxAge)
	d.between("cleanup.auditRetention", c.AuditRetention, 24*time.Hour, maxAge)
	return c
}

func (d *draft) checkDefaults() Defaults {
	defaults := only(d, "defaults", d.defaults)
	d.checkMetadata("defaults", Metadata{Owner: defaults.Owner, Labels: defaults.Labels})
	return defaults
}

func (d *draft) builtin(c Cleanup, p Platform, defaults Defaults) registered {
	j := purgeJob(c).withDefaults(p)
	j.Metadata = j.Metadata.inherit(defaults)
	j.schedule = d.parseSchedule("cleanup", j)
	return registered{Job: j, at: builtinAt}
}

// only takes the one entry of its kind, or the zero entry.
func only[E any](d *draft, path string, entries []E) (entry E) {
	if len(entries) > 1 {
		d.add(path, codeDuplicateField, "%s is given twice; keep one", path)
	}
	if len(entries) > 0 {
		entry = entries[0]
	}
	return entry
}

// where is "on line N" in a file, else the path.
func (d *draft) where(path string) string {
	if line := d.at(path).line; line > 0 {
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

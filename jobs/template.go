package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
)

// Template is a job whose schedules are made at run time, one for each key (see
// KeyedSchedule). It is an entry of a registry like a Job, and has the same fields, but no
// Schedule and no heartbeat. Timezone and DST are the defaults of its schedules. Path,
// Body and Headers may have the placeholder {{key}}; Path and Body also {{data.FIELD}}.
type Template struct {
	Job                       // its ID has at most MaxTemplateID characters
	Max       int             // how many schedules it can have; required
	Schema    json.RawMessage // JSON Schema of the data of a schedule; default: any object
	Retention time.Duration   // of finished runs of its schedules, and of ended schedules; at least CatchUpWindow; 0: Cleanup's
}

// Bounds of templates.
const (
	MaxTemplateID = 32         // bytes
	maxSchedules  = 10_000_000 // of one template
	maxSchema     = 64 << 10   // bytes
)

// keyedTerms are the fields that a Template adds to a Job.
type keyedTerms struct {
	max       int
	schema    json.RawMessage
	retention time.Duration
}

func (t Template) enter(d *draft) {
	d.jobs = append(d.jobs, d.register(t.Job, len(d.jobs), &keyedTerms{t.Max, t.Schema, t.Retention}))
}

// Templates returns all templates, sorted by ID, with the disabled ones. Jobs does not
// contain them. Do not modify their slices and maps.
func (r *Registry) Templates() []Template {
	list := make([]Template, len(r.templates))
	for i, t := range r.templates {
		list[i] = t.template()
	}
	return list
}

// Template returns the template with an ID.
func (r *Registry) Template(id string) (Template, bool) {
	i, found := indexOf(r.templates, id)
	if !found {
		return Template{}, false
	}
	return r.templates[i].template(), true
}

func (e *registered) template() Template {
	return Template{Job: e.job(), Max: e.keyed.max, Schema: e.keyed.schema, Retention: e.keyed.retention}
}

// ParseTemplate returns the template that Definition has encoded, without Max, Schema and
// Retention, which are not part of it.
func ParseTemplate(body []byte) (Template, error) {
	var d definition
	if err := json.Unmarshal(body, &d); err != nil {
		return Template{}, fmt.Errorf("a template's stored definition is damaged: %w", err)
	}
	switch {
	case d.Version != definitionVersion:
		return Template{}, d.foreignVersion()
	case !d.Keyed:
		return Template{}, fmt.Errorf("the stored definition of %q is that of a job with a schedule of its own, not of a template", d.ID)
	}
	return Template{Job: d.job(nil)}, nil
}

// Definition returns the template as canonical JSON, and the SHA-256 of that in
// hexadecimal; see Job.Definition. Max, Schema and Retention are not part of it, since no
// run depends on them.
func (t Template) Definition() (body []byte, hash string, err error) {
	return t.hashed(true)
}

// checkTemplate checks what only a template has, and refuses what it cannot have.
func (d *draft) checkTemplate(path string, j Job, k *keyedTerms) {
	if len(j.ID) > MaxTemplateID {
		d.Add(path+".id", codeBadID, "the id %s has %d characters; that of a template has at most %d, because keys follow it in run IDs",
			field.Quoted(j.ID), len(j.ID), MaxTemplateID)
	}
	if j.Schedule != "" {
		d.Add(path+".schedule", codeNeedlessField,
			"a job with keyed has no schedule of its own, because its schedules are made at run time; remove schedule or keyed")
	}
	if j.HeartbeatURLEnv != "" {
		d.Add(path+".heartbeat", codeNeedlessField,
			"a job with keyed has no heartbeat, because one address cannot tell its schedules apart; use alarm and notifications, and remove heartbeat")
	}
	if j.MaxInFlight != 0 {
		d.Add(path+".maxInFlight", codeNeedlessField,
			"a job with keyed has no maxInFlight, because each of its schedules is a job of its own; set maxInFlight of the target")
	}
	switch at := path + ".keyed.max"; {
	case k.max == 0:
		d.Add(at, codeMissingField, "max is missing; set it to the number of schedules that the template can have at most, e.g. 10000")
	case k.max < 0 || k.max > maxSchedules:
		d.Add(at, field.OutOfRange, "max %d is out of range; valid values are 1 to %d", k.max, maxSchedules)
	}
	if d.Between(path+".keyed.retention", k.retention, 0, maxAge); k.retention > 0 && k.retention < j.CatchUpWindow {
		// Else a schedule at a single time would be forgotten, made, and run, again.
		d.Add(path+".keyed.retention", CodeRetention,
			"retention %s is shorter than catchUpWindow %s: a repeated PUT of a single time could run it again; raise retention or lower catchUpWindow",
			k.retention, j.CatchUpWindow)
	}
	if s := bytes.TrimSpace(k.schema); len(k.schema) > maxSchema || s != nil && (!json.Valid(s) || s[0] != '{') {
		d.Add(path+".keyed.schema", CodeBadSchema,
			"schema must be a JSON Schema: an object of at most %d bytes, e.g. {type: object, required: [format]}", maxSchema)
	}
	// As for any schedule of the template: its time zone must be known.
	sample := j
	sample.Schedule = "@daily"
	d.parseSchedule(path, sample)
}

// names returns which placeholders the texts of a job can have.
func (k *keyedTerms) names() placeholderSet {
	if k == nil {
		return placeholderSet{names: placeholderNames}
	}
	return placeholderSet{names: slices.Concat(placeholderNames, []string{placeholderKey}), data: true}
}

// headerNames returns the placeholders that a header can have: no data, which may have line breaks.
func (k *keyedTerms) headerNames() placeholderSet {
	return placeholderSet{names: k.names().names}
}

// checkTemplatePath refuses placeholders in a path that vary between the runs of a
// schedule, since its path does not.
func (d *draft) checkTemplatePath(path, text string) bool {
	_, ok := d.checkPlaceholders(path, text, placeholderSet{names: []string{placeholderKey}, data: true})
	return ok
}

// routePath returns a path with each {{key}} as {key} and {{data.x}} as {x}, as routers write a
// segment that varies.
func routePath(path string) string {
	return expand(path, func(name string) string {
		return "{" + name[strings.LastIndexByte(name, '.')+1:] + "}"
	})
}

// samplePath returns a path with a letter for each placeholder.
func samplePath(path string) string {
	return expand(path, func(string) string { return "x" })
}

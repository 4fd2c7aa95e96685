package jobs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
	"github.com/cronce/cronce/schedule"
)

// KeyedSchedule is a schedule that is made at run time: when a template's call is made for
// one key, and with which data.
type KeyedSchedule struct {
	Key      string          // its own within the template: [A-Za-z0-9][A-Za-z0-9._-]{0,47}
	Schedule string          // as that of a Job
	Timezone string          // default: the template's
	DST      schedule.DST    // default: the template's
	Data     json.RawMessage // an object of at most MaxData bytes for {{data.FIELD}}; default: none
	Until    time.Time       // no later scheduled time runs; zero: no end
}

// Bounds of KeyedSchedule, in bytes.
const (
	MaxKey  = 48
	MaxData = 16 << 10
)

// keySeparator stands between template and key in the ID of a job. No job ID of a registry
// and no key contains it.
const keySeparator = ":"

// ScheduleID returns the job ID of a schedule: "<template>:<key>".
func ScheduleID(template, key string) string { return template + keySeparator + key }

// SplitJobID splits the job ID of a schedule. For every other job ID, template is the ID
// itself and keyed is false.
func SplitJobID(id string) (template, key string, keyed bool) {
	return strings.Cut(id, keySeparator)
}

// ValidKey reports whether a key matches [A-Za-z0-9][A-Za-z0-9._-]{0,47}.
func ValidKey(key string) bool {
	return len(key) <= MaxKey && validToken(key) && !punctuation(key[0])
}

// validOwner reports whether a run can belong to the job ID: that of a job, or of a
// schedule of a template.
func validOwner(id string) bool {
	template, key, keyed := SplitJobID(id)
	return ValidJobID(template) && (!keyed || len(template) <= MaxTemplateID && ValidKey(key))
}

// Check returns the schedule with the template's defaults and with compact data, or a
// Problem. It accepts what JobOf can make calls of. It does not check data against Schema.
func (t Template) Check(s KeyedSchedule) (KeyedSchedule, error) {
	if !ValidKey(s.Key) {
		return s, problemOf(codeBadName,
			"invalid key %s; a key has 1 to %d letters, digits, dots, dashes and underscores, and starts with a letter or digit",
			field.Quoted(s.Key), MaxKey)
	}
	if s.Schedule == "" {
		return s, problemOf(codeMissingSchedule,
			`the schedule is missing; set it to when the call is due, e.g. "0 7 * * 1-5" or "at(2026-12-24T18:00:00)"`)
	}
	when := t.timing(s)
	s.Timezone, s.DST = when.timezone, when.dst
	if s.Until.Nanosecond() != 0 {
		return s, problemOf(CodeBadValue, "until %s has a fraction of a second; use whole seconds", s.Until.Format(time.RFC3339Nano))
	}
	if s.Until.UTC().Year() > 9999 {
		return s, problemOf(CodeBadValue, "until is after the year 9999 in UTC; leave it out for a schedule without an end")
	}
	var err error
	if s.Data, err = compactData(s.Data); err != nil {
		return s, err
	}
	j, err := t.JobOf(s, nil)
	if err != nil {
		return s, err
	}
	return s, j.checkKeyed()
}

// compactData returns an object in one form: compact, with its fields sorted.
func compactData(data json.RawMessage) (json.RawMessage, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	fields, err := parseData(data)
	if err != nil {
		return nil, err
	}
	if name := repeatedField(json.NewDecoder(bytes.NewReader(data))); name != "" {
		return nil, problemOf(CodeBadData, "data%s is given more than once; keep one", name)
	}
	if name := secretField(fields); name != "" {
		return nil, problemOf(CodeBadSecret,
			"data.%s looks like a secret (its value is not shown), and data is stored and shown as it is; let the target look it up", name)
	}
	compact, err := field.JSONText(fields)
	switch {
	case err != nil:
		return nil, problemOf(CodeBadData, "data cannot be written as JSON: %v", err)
	case bytes.Contains(compact, []byte("\uFFFD")):
		return nil, problemOf(CodeBadData, "data has half of a UTF-16 surrogate pair, or U+FFFD, which replaces one; send the character that is meant")
	case len(compact) > MaxData:
		return nil, problemOf(CodeBadData, "data has %d bytes as JSON, the maximum is %d; let the target look it up", len(compact), MaxData)
	}
	return compact, nil
}

// repeatedField returns the path of a field that an object has twice, with a dot before each name;
// "" if there is none. It reads one valid value.
func repeatedField(d *json.Decoder) string {
	begin, _ := d.Token()
	if _, nested := begin.(json.Delim); !nested {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		path := ""
		if begin == json.Delim('{') {
			name, _ := d.Token()
			path = fmt.Sprintf(".%s", name)
		}
		if within := repeatedField(d); within != "" {
			return path + within
		}
		if path != "" && seen[path] {
			return path
		}
		seen[path] = true
	}
	_, _ = d.Token() // the end
	return ""
}

// parseData reads data; numbers keep all of their digits.
func parseData(data json.RawMessage) (fields map[string]any, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil || d.More() {
		return nil, problemOf(CodeBadData, `data is not a JSON object; write e.g. {"format":"pdf"}`)
	}
	return fields, nil
}

// ScheduleCache keeps parsed schedules, since those of a template have few different
// expressions. The zero ScheduleCache is empty. It is safe for concurrent use.
type ScheduleCache struct {
	mu     sync.Mutex
	parsed map[timing]*schedule.Schedule
}

// cachedSchedules bounds a ScheduleCache; at the bound it is emptied.
const cachedSchedules = 4096

// parse returns a parsed schedule. Many schedules made at run time have the same expression, so it is parsed
// once.
func (c *ScheduleCache) parse(when timing) (*schedule.Schedule, error) {
	if c == nil {
		return schedule.Parse(when.expr, when.timezone, when.dst)
	}
	c.mu.Lock()
	known := c.parsed[when]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	parsed, err := schedule.Parse(when.expr, when.timezone, when.dst)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed == nil || len(c.parsed) >= cachedSchedules {
		c.parsed = map[timing]*schedule.Schedule{}
	}
	c.parsed[when] = parsed
	return parsed, nil
}

// JobOf returns the job that a schedule makes of the template: its ID is that of ScheduleID,
// its schedule is parsed, and its path, headers and body have the schedule's key and data.
// It returns a Problem for a schedule that Check refuses, and the job to be shown: see Job.Unfit.
func (t Template) JobOf(s KeyedSchedule, cache *ScheduleCache) (Job, error) {
	when := t.timing(s)
	j := t.Job
	j.ID, j.Path = ScheduleID(t.ID, s.Key), ""
	j.Schedule, j.Timezone, j.DST, j.keyed = when.expr, when.timezone, when.dst, &keyedValues{key: s.Key, data: s.Data}
	parsed, err := cache.parse(when)
	switch {
	case err != nil:
		err = problemOf(codeBadSchedule, "%v", err)
	case s.Until.IsZero():
		j.schedule = parsed
	default:
		j.schedule = parsed.EndingAt(s.Until)
	}
	if err == nil {
		j.keyed.fields, err = t.fieldsOf(s.Data)
	}
	if err == nil {
		j.Path, err = j.keyed.path(t.Path)
	}
	if err == nil {
		err = j.missingData()
	}
	j.keyed.unfit = err
	return j, err
}

// Unfit returns why the schedule that the job was made of cannot be planned: its template needs other
// data, or its expression cannot be read, so that ParsedSchedule returns nil. "": it can, or is
// another job.
func (j Job) Unfit() string {
	if err := j.values().unfit; err != nil {
		return MessageOf(err)
	}
	return ""
}

// checkKeyed refuses what the schedule's calls could not send.
func (j Job) checkKeyed() error {
	at := time.Unix(0, 0)
	if n := len(j.RequestBody(RunID(j.ID, at), at)); n > maxBody {
		return problemOf(field.BadBody, "with this data the body has %d bytes, the maximum is %d; let the target look up the data", n, maxBody)
	}
	return nil
}

// timing returns the fields that say when a schedule of the template is due.
func (t Template) timing(s KeyedSchedule) timing {
	return timing{s.Schedule, cmp.Or(s.Timezone, t.Timezone), cmp.Or(s.DST, t.DST)}
}

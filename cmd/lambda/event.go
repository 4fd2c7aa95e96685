package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/jobs"
)

// event asks for one run: a job, and the time or the id (or both) that
// tell this run from the job's others. Both come with the event, so that its
// every delivery asks for the same run.
type event struct {
	jobID string
	at    time.Time // nominal; zero: the event has none
	id    string    // of the event; "": it has none
	rule  bool      // made by an EventBridge rule
}

const knownEvents = `send {"jobId":"...","scheduledAt":"2026-11-21T03:00:00Z"} or {"jobId":"...","id":"..."}, an EventBridge rule's event, an SQS batch of these, or {"tick":true}`

// shape is the fields by which the kinds of events are told apart.
type shape map[string]json.RawMessage

// parseShape returns the fields of a payload, or an error that names what a function is sent.
func parseShape(payload []byte) (shape, error) {
	var s shape
	if err := json.Unmarshal(payload, &s); err != nil || s == nil {
		return nil, fmt.Errorf("%w: got %s; %s", errBadEvent, kindOf(payload), knownEvents)
	}
	return s, nil
}

// kindOf returns in words the kind of a payload that is not a JSON object. It does not quote the
// payload, which may be long and may contain secrets.
func kindOf(payload []byte) string {
	trimmed := bytes.TrimSpace(payload)
	switch {
	case len(trimmed) == 0:
		return "nothing"
	case !json.Valid(trimmed):
		return fmt.Sprintf("%d bytes that are not JSON", len(payload))
	case trimmed[0] == '[':
		return "a JSON array"
	case trimmed[0] == '"':
		return "a JSON string"
	}
	return "the JSON value " + string(trimmed[:min(len(trimmed), 40)])
}

func (s shape) has(field string) bool { _, ok := s[field]; return ok }

// text returns a field that is a string; "" for anything else.
func (s shape) text(field string) string {
	var v string
	_ = json.Unmarshal(s[field], &v)
	return v
}

// names returns the names of the fields, for errors.
func (s shape) names() string {
	names := slices.Sorted(maps.Keys(s))
	if len(names) == 0 {
		return "an empty object"
	}
	if len(names) > 12 {
		names = append(names[:12], "...")
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%.40s", name)
	}
	got := fmt.Sprintf("an object with the fields %q", names)
	if source := s.text("source"); source != "" {
		got += fmt.Sprintf(" from %.40q", source)
	}
	return got
}

// event reads what asks for one run.
func (s shape) event() (event, error) {
	switch {
	case s.has("detail-type"):
		return s.ruleEvent()
	case s.has("jobId"):
		return s.directEvent()
	}
	return event{}, fmt.Errorf("%w: got %s; %s", errBadEvent, s.names(), knownEvents)
}

// directFields are those of a schedule's input or a direct invoke. The fields that
// EventBridge Scheduler can add for the log are ignored: they change from one
// attempt to the next.
var directFields = []string{"jobId", "scheduledAt", "id", "executionId", "attempt", "attemptNumber", "scheduleArn"}

// directEvent reads the input of a schedule, or of a direct invoke. It must name the run: by a
// time, an id, or both.
func (s shape) directEvent() (event, error) {
	for name := range s {
		if !slices.Contains(directFields, name) {
			return event{}, fmt.Errorf("%w: unknown field %.40q in %s; %s", errBadEvent, name, s.names(), knownEvents)
		}
	}
	e := event{jobID: s.text("jobId"), id: s.text("id")}
	if err := checkJobID(e.jobID); err != nil {
		return e, fmt.Errorf("%w: %w, in %s", errBadEvent, err, s.names())
	}
	if s.has("id") && e.id == "" {
		return e, fmt.Errorf("%w: the id for job %q is not a string", errBadEvent, e.jobID)
	}
	if err := checkID(e); err != nil {
		return e, err
	}
	if !s.has("scheduledAt") {
		if e.id == "" {
			return e, fmt.Errorf("%w: job %q without scheduledAt and without id, so a repeat could not be told from new work; %s",
				errBadEvent, e.jobID, knownEvents)
		}
		return e, nil
	}
	var err error
	e.at, err = parseTime(s.text("scheduledAt"))
	if err != nil {
		return e, fmt.Errorf("%w: scheduledAt of job %q: %w", errBadEvent, e.jobID, err)
	}
	return e, nil
}

// checkJobID refuses what can be no job's id, so that nothing longer gets into
// an error or a log.
func checkJobID(id string) error {
	if _, _, _, err := jobs.ParseRunID(jobs.RunID(id, timeless)); err != nil {
		return fmt.Errorf("jobId %.40q is not a job's id (at most 64 of a-z, 0-9, '.', '_' and '-')", id)
	}
	return nil
}

// checkID refuses an id of which a part was lost on the way: what is no Unicode
// is read as U+FFFD (RFC 8259, section 8.2), so two such ids could be read as one.
func checkID(e event) error {
	if strings.ContainsRune(e.id, utf8.RuneError) {
		return fmt.Errorf("%w: the id for job %q contains invalid Unicode or U+FFFD, so two ids could be read as one; send an id of "+
			"valid Unicode", errBadEvent, e.jobID)
	}
	return nil
}

// parseTime reads the time of an event. Its error says how to write one, or that Scheduler did not
// fill it in.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if strings.Contains(text, "<aws.scheduler.") {
			return t, fmt.Errorf("%.60q was not filled in; EventBridge Scheduler does that only in the Input of a schedule", text)
		}
		return t, fmt.Errorf("%.40q is not a time like 2026-11-21T03:00:00Z", text)
	}
	if t.Before(earliest) {
		return t, fmt.Errorf("%.40q is a time from which no event comes; to give none, leave it out and give an id", text)
	}
	return t.UTC(), nil
}

// earliest is the first time that an event may have. It keeps the zero time and
// timeless, which stand for "no time", from being given.
var earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// ruleEvent reads an event that an EventBridge rule sent on: detail says the
// job, or the rule bears its name.
func (s shape) ruleEvent() (event, error) {
	var detail struct {
		JobID string `json:"jobId"`
	}
	_ = json.Unmarshal(s["detail"], &detail)
	e := event{jobID: detail.JobID, id: s.text("id"), rule: true}
	if e.jobID == "" {
		e.jobID = s.ruleName()
	}
	if e.jobID == "" {
		return e, fmt.Errorf("%w: got %s, but its detail has no jobId and its resources name no rule", errBadEvent, s.names())
	}
	if err := checkJobID(e.jobID); err != nil {
		return e, fmt.Errorf("%w: the rule's event names no job: %w", errBadEvent, err)
	}
	if e.id == "" {
		return e, fmt.Errorf("%w: the rule's event for job %q has no id", errBadEvent, e.jobID)
	}
	if err := checkID(e); err != nil {
		return e, err
	}
	var err error
	if e.at, err = parseTime(s.text("time")); err != nil {
		return e, fmt.Errorf("%w: time of the rule's event for job %q: %w", errBadEvent, e.jobID, err)
	}
	return e, nil
}

// ruleName returns the name of the rule in arn:aws:events:REGION:ACCOUNT:rule/[BUS/]NAME.
func (s shape) ruleName() string {
	var resources []string
	_ = json.Unmarshal(s["resources"], &resources)
	for _, arn := range resources {
		parts := strings.SplitN(arn, ":", 6)
		if len(parts) < 6 || parts[0] != "arn" || parts[2] != "events" {
			continue
		}
		if name, ok := strings.CutPrefix(parts[5], "rule/"); ok {
			return name[strings.LastIndexByte(name, '/')+1:]
		}
	}
	return ""
}

package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
	"github.com/cronce/cronce/schedule"
)

// definitionVersion changes when a field's meaning does, so that a process
// never plans by a definition that it would misread.
const definitionVersion = 1

// definition is a job as the ledger keeps it: all that planning and calling
// depend on, with every default written out. Durations are nanoseconds. A field of a
// job is in it under the name in its json tag.
type definition struct {
	Version int     `json:"v"`
	Zones   string  `json:"zones"`
	Shifts  []int64 `json:"shifts,omitempty"` // of the time zone in that release
	Job
	Retry
	Async
	Alarm
	Key
	Body       json.RawMessage `json:"body,omitempty"`
	Registry   string          `json:"registry,omitempty"` // where the rest depends on it
	KeySafeFor time.Duration   `json:"keySafeFor,omitempty"`
	Keyed      bool            `json:"keyed,omitempty"` // a Template
}

// ParsedSchedule returns the job's schedule. It is nil unless the job comes from a
// Registry or from ParseDefinition.
func (j Job) ParsedSchedule() *schedule.Schedule { return j.schedule }

// Definition returns the job as canonical JSON, and the SHA-256 of that in hexadecimal.
// The JSON is enough to plan the job and to make its calls. It includes the metadata
// and the version of the time zone database. Equal jobs of a Registry have equal
// definitions. The error says that Body cannot be encoded as JSON, which cannot happen
// for a job of a Registry.
func (j Job) Definition() (body []byte, hash string, err error) {
	return j.hashed(false)
}

func (j Job) hashed(keyed bool) (body []byte, hash string, err error) {
	if body, err = j.define(keyed); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	return body, hex.EncodeToString(sum[:]), nil
}

// define returns what processes must agree on to run the job: all its fields, and how schedules are read
// here.
func (j Job) define(keyed bool) ([]byte, error) {
	sent, err := j.ownBody()
	if err != nil {
		return nil, err
	}
	body, err := field.JSONText(definition{
		Version: definitionVersion, Zones: schedule.ZoneVersion(), Shifts: j.shifts(),
		Job: j, Retry: j.Retry, Async: j.Async, Alarm: j.Alarm, Key: j.Key,
		Body: sent, Registry: j.registryIfNamed(sent), KeySafeFor: j.keySafeFor, Keyed: keyed,
	})
	if err != nil {
		return nil, fmt.Errorf("definition of job %q: %w", j.ID, err)
	}
	return body, nil
}

func (j Job) shifts() []int64 {
	if j.schedule == nil {
		return nil
	}
	return j.schedule.Shifts()
}

// ParseDefinition returns the job that Definition has encoded. Its schedule uses the
// time zone of the release that encoded it, for five years after that release, and
// otherwise that of this process. Unknown fields are ignored. It returns an error
// for damaged JSON and for another version of the format.
func ParseDefinition(body []byte) (Job, error) {
	var d definition
	if err := json.Unmarshal(body, &d); err != nil {
		return Job{}, fmt.Errorf("a job's stored definition is damaged: %w", err)
	}
	if d.Version != definitionVersion {
		return Job{}, d.foreignVersion()
	}
	parsed, err := schedule.Parse(d.Schedule, d.Timezone, d.DST)
	if err == nil {
		parsed, err = parsed.WithShifts(d.Shifts)
	}
	if err != nil {
		return Job{}, fmt.Errorf("the stored definition of job %q: %w", d.ID, err)
	}
	return d.job(parsed), nil
}

func (d definition) foreignVersion() error {
	return fmt.Errorf("the stored definition of job %q has version %d, this program reads %d; run the program that wrote it",
		d.ID, d.Version, definitionVersion)
}

// job returns the job that was defined, with its schedule as this process reads it.
func (d definition) job(parsed *schedule.Schedule) Job {
	j := d.Job
	j.Retry, j.Async, j.Alarm, j.Key = d.Retry, d.Async, d.Alarm, d.Key
	j.schedule, j.registry, j.keySafeFor = parsed, d.Registry, d.KeySafeFor
	if d.Body != nil {
		j.Body = d.Body
	}
	return j
}

// registryIfNamed returns the registry's name where a call of the job, or its delay, could
// depend on it.
func (j Job) registryIfNamed(body []byte) string {
	if j.Spread > 0 || j.headersVary() || hasPlaceholder(string(body)) {
		return j.registry
	}
	return ""
}

// defaultBody has its fields in the order in which they are sent.
type defaultBody struct {
	JobID       string          `json:"jobId"`
	RunID       string          `json:"runId"`
	ScheduledAt string          `json:"scheduledAt"`
	Key         string          `json:"key,omitempty"` // of a schedule made at run time
	Data        json.RawMessage `json:"data,omitempty"`
}

// RequestBody returns the body that every attempt of a run sends, byte for byte. It is
// Body with the values of its placeholders, or else an object with jobId, runId and
// scheduledAt, in UTC. It is nil for GET and HEAD, and if Body cannot be encoded as
// JSON, which cannot happen for a job of a Registry.
func (j Job) RequestBody(runID string, scheduledAt time.Time) json.RawMessage {
	if bodyless(j.Method) {
		return nil
	}
	if j.fansOut() {
		return j.memberBody(runID, scheduledAt)
	}
	if j.Body != nil {
		body, _ := j.ownBody()
		if !bytes.Contains(body, []byte(openPlaceholder)) {
			return body
		}
		return json.RawMessage(j.expandBody(string(body), j.placeholders(runID, scheduledAt)))
	}
	if !plainJSON(j.ID) || !plainJSON(runID) || j.keyed != nil {
		body, _ := field.JSONText(defaultBody{j.ID, runID, scheduledAt.UTC().Format(timeLayout), j.values().key, j.values().data})
		return body
	}
	// By hand, as the minute's top may want a hundred thousand of them at once.
	b := make([]byte, 0, len(`{"jobId":"","runId":"","scheduledAt":""}`)+len(j.ID)+len(runID)+len(timeLayout))
	b = append(append(b, `{"jobId":"`...), j.ID...)
	b = append(append(b, `","runId":"`...), runID...)
	b = appendTime(append(b, `","scheduledAt":"`...), scheduledAt)
	return append(b, `"}`...)
}

// expandBody puts the values of placeholders into a JSON text. A string that is only a
// placeholder of the data becomes what the data has there, such as a number or a list.
func (j Job) expandBody(body string, value func(name string) string) string {
	var b strings.Builder
	for rest := body; rest != ""; {
		var p piece
		p, rest = cutPiece(rest)
		switch {
		case p.named && (p.name == placeholderAll || dataField(p.name)) && opensString(p.before) && closesValue(rest):
			b.WriteString(strings.TrimSuffix(p.before, `"`))
			b.Write(j.values().json(p.name))
			rest = rest[1:]
		case p.named:
			b.WriteString(p.before)
			b.WriteString(inJSON(value(p.name)))
		default:
			b.WriteString(p.before)
		}
	}
	return b.String()
}

// opensString reports whether a JSON text ends with the quote that opens a string, if a
// string is open at its end.
func opensString(before string) bool {
	return strings.HasSuffix(before, `"`) && !strings.HasSuffix(before, `\"`)
}

// closesValue reports whether the string ends here, and is not the name of a field.
func closesValue(rest string) bool {
	return strings.HasPrefix(rest, `"`) && !strings.HasPrefix(rest, `":`)
}

// plainJSON reports whether JSON writes a text as it is, between quotes. It does
// so with every job's id and run ID.
func plainJSON(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// inJSON returns a text as JSON has it within a string.
func inJSON(text string) string {
	if plainJSON(text) {
		return text
	}
	quoted, _ := field.JSONText(text)
	return string(quoted[1 : len(quoted)-1])
}

// ownBody returns the job's body as JSON text, or nil for the default body.
func (j Job) ownBody() (json.RawMessage, error) {
	if j.Body == nil {
		return nil, nil
	}
	if raw, ok := j.Body.(json.RawMessage); ok {
		return raw, nil
	}
	body, err := field.JSONText(j.Body)
	if err != nil {
		return nil, fmt.Errorf("body of job %q: %w", j.ID, err)
	}
	return body, nil
}

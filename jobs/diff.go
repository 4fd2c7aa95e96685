package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Change is the kind of difference between a job's old and new definition.
type Change string

const (
	Same    Change = "same"
	Changed Change = "changed"
	Added   Change = "added"
	Removed Change = "removed"
)

// Diff is what an edited registry changes.
type Diff struct {
	Changed bool   `json:"changed"`
	Against string `json:"against"` // what the old side is
	// Registry is set where the registries' names differ.
	Registry *FieldDiff `json:"registry,omitempty"`
	Jobs     []JobDiff  `json:"jobs"` // of either side, by id
}

// JobDiff is the difference of one job.
type JobDiff struct {
	ID      string      `json:"id"`
	Change  Change      `json:"change"`
	Paused  bool        `json:"paused"`
	Fields  []FieldDiff `json:"fields"` // those that differ, in the order of the registry file
	OldNext []string    `json:"oldNext"`
	NewNext []string    `json:"newNext"`
}

// FieldDiff is a field of the registry file; empty where a side has none.
type FieldDiff struct {
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// Definitions is one side of a Diff: the jobs that a registry or a ledger plans.
type Definitions struct {
	What     string // the side's name for people
	Registry string // the registry's name; empty of a ledger
	Paused   map[string]bool
	jobs     map[string]planned
}

// planned is a job as a ledger keeps it.
type planned struct {
	Job
	zones string          // the version of the time zone database
	body  json.RawMessage // nil: the default body
}

// Definitions returns the enabled jobs, encoded and decoded as a ledger stores
// them, so that a registry and a ledger compare alike.
func (r *Registry) Definitions() (Definitions, error) {
	d := Definitions{Registry: r.Name()}
	for _, j := range r.Jobs() {
		if j.Disabled {
			continue
		}
		text, _, err := j.Definition()
		if err != nil {
			return d, err
		}
		if err := d.Add(text); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Add adds a job by its definition, as a ledger keeps it.
func (d *Definitions) Add(text []byte) error {
	j, err := ParseDefinition(text)
	if err != nil {
		return err
	}
	var rest struct {
		Zones string          `json:"zones"`
		Body  json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(text, &rest); err != nil {
		return fmt.Errorf("the definition of job %q is damaged: %w", j.ID, err)
	}
	if d.jobs == nil {
		d.jobs = map[string]planned{}
	}
	d.jobs[j.ID] = planned{j, rest.Zones, rest.Body}
	return nil
}

// Compare returns the difference of each job of either side, with its next n
// scheduled times after from on both sides.
func Compare(old, edited Definitions, from time.Time, n int) Diff {
	d := Diff{Against: old.What, Jobs: []JobDiff{}}
	if old.Registry != "" && old.Registry != edited.Registry {
		d.Registry = &FieldDiff{Field: "name", Old: old.Registry, New: edited.Registry}
		d.Changed = true
	}
	ids := map[string]planned{}
	maps.Copy(ids, old.jobs)
	maps.Copy(ids, edited.jobs)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		before, had := old.jobs[id]
		after, has := edited.jobs[id]
		j := JobDiff{ID: id, Paused: old.Paused[id], Fields: []FieldDiff{}, OldNext: []string{}, NewNext: []string{}}
		if had {
			j.OldNext = before.next(from, n)
		}
		if has {
			j.NewNext = after.next(from, n)
		}
		switch {
		case !had:
			j.Change, j.Fields = Added, after.fields().against(nil)
		case !has:
			j.Change, j.Fields = Removed, fields(nil).against(before.fields())
		default:
			j.Fields = after.fields().against(before.fields())
			j.Change = Same
			if len(j.Fields) > 0 {
				j.Change = Changed
			}
		}
		d.Changed = d.Changed || j.Change != Same
		d.Jobs = append(d.Jobs, j)
	}
	return d
}

func (p planned) next(from time.Time, n int) []string {
	texts := []string{}
	for _, t := range p.Parsed().Upcoming(from, n) {
		texts = append(texts, t.UTC().Format(time.RFC3339))
	}
	return texts
}

// fields are a job's fields in words, in the order of the registry file.
type fields []struct{ name, value string }

func (p planned) fields() fields {
	body, limit, spread := "default", "none", "none"
	if p.Spread > 0 {
		spread = p.Spread.String()
	}
	if p.body != nil {
		body = string(p.body)
	}
	if p.MaxInFlight > 0 {
		limit = strconv.Itoa(p.MaxInFlight)
	}
	return fields{
		{"schedule", p.Schedule}, {"timezone", p.Timezone}, {"dst", string(p.DST)}, {"time zone data", p.zones},
		{"spread", spread}, {"target", p.Target}, {"method", p.Method}, {"path", p.Path}, {"scopes", strings.Join(p.Scopes, " ")},
		{"body", body}, {"headers", headerText(p.Headers)}, {"timeout", p.Timeout.String()}, {"retry.backoff", waits(p.Retry.Backoff)},
		{"retry.jitter", strconv.FormatFloat(p.Retry.Jitter, 'g', -1, 64)},
		{"retry.maxRetryAfter", p.Retry.MaxRetryAfter.String()}, {"retry.horizon", p.Retry.Horizon.String()},
		{"async", p.Async.String()}, {"alarm", p.Alarm.String()}, {"heartbeat", cmp.Or(p.HeartbeatURLEnv, "none")},
		{"overlap", string(p.Overlap)}, {"catchUp", string(p.CatchUp)}, {"catchUpWindow", p.CatchUpWindow.String()},
		{"keyScope", p.KeyScope}, {"maxInFlight", limit},
		{"description", p.Description}, {"owner", p.Owner}, {"labels", p.LabelText()},
	}
}

func waits(backoff []time.Duration) string {
	if len(backoff) == 0 {
		return "none"
	}
	words := make([]string, len(backoff))
	for i, d := range backoff {
		words[i] = d.String()
	}
	return strings.Join(words, ", ")
}

// against lists the fields that differ; nil stands for a job that is not there.
func (f fields) against(old fields) []FieldDiff {
	diffs := []FieldDiff{}
	for i := range max(len(f), len(old)) {
		var d FieldDiff
		if old != nil {
			d.Field, d.Old = old[i].name, old[i].value
		}
		if f != nil {
			d.Field, d.New = f[i].name, f[i].value
		}
		if d.Old != d.New {
			diffs = append(diffs, d)
		}
	}
	return diffs
}

// Package jobdiff compares the jobs of two registries, or of a registry and a ledger,
// field by field. The command `diff` and the dashboard show the result.
package jobdiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
)

// Change is the kind of difference between a job's old and new definition.
type Change string

const (
	Same    Change = "same"
	Changed Change = "changed"
	Added   Change = "added"   // only the edited side has the job
	Removed Change = "removed" // only the old side has the job
)

// Diff is the difference between two sides.
type Diff struct {
	Changed bool   `json:"changed"`
	Against string `json:"against"` // the old side's name
	// Registry is set if the registries' names differ.
	Registry *Field `json:"registry,omitempty"`
	Jobs     []Job  `json:"jobs"` // the jobs of both sides, sorted by ID
	// Problems are of schedules in the ledger that do not fit the new side.
	Problems jobs.Problems `json:"problems,omitempty"`
}

// Job is the difference of one job.
type Job struct {
	ID      string   `json:"id"`
	Change  Change   `json:"change"`
	Paused  bool     `json:"paused"`
	Fields  []Field  `json:"fields"`  // those that differ, in the order of jobs.Job
	OldNext []string `json:"oldNext"` // the next scheduled times of the old side (RFC 3339)
	NewNext []string `json:"newNext"`
}

// Field is the difference of one field of the registry file. A side that does not
// have the field has an empty text.
type Field struct {
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// Side is one side of a Diff: the jobs that a registry or a ledger plans. The zero
// Side has no jobs.
type Side struct {
	Name     string          // for people
	Registry string          // the registry's name; empty for a ledger
	Paused   map[string]bool // by job ID
	jobs     map[string]planned
}

// planned is a job as a ledger keeps it.
type planned struct {
	jobs.Job
	zones string          // the version of the time zone database
	body  json.RawMessage // nil: the default body
}

// Of returns the side with a registry's enabled jobs. They are encoded and decoded as
// a ledger stores them, so that a registry and a ledger compare alike.
func Of(r *jobs.Registry) (Side, error) {
	s := Side{Registry: r.Name()}
	for d := range r.Definitions() {
		if err := s.Add(d.Body); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Add adds a job or template by its definition, as [jobs.Job.Definition] and
// [jobs.Template.Definition] return it and a ledger stores it. Its error says what is wrong with
// the definition.
func (s *Side) Add(text []byte) error {
	j, err := jobs.ParseDefinition(text)
	if t, not := jobs.ParseTemplate(text); not == nil {
		j, err = t.Job, nil
		j.Schedule = madeAtRunTime
	}
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
	if s.jobs == nil {
		s.jobs = map[string]planned{}
	}
	s.jobs[j.ID] = planned{j, rest.Zones, rest.Body}
	return nil
}

// Compare returns the difference of each job of either side, with its next n
// scheduled times after from on both sides.
func Compare(old, edited Side, from time.Time, n int) Diff {
	d := Diff{Against: old.Name, Jobs: []Job{}}
	if old.Registry != "" && old.Registry != edited.Registry {
		d.Registry = &Field{Field: "name", Old: old.Registry, New: edited.Registry}
		d.Changed = true
	}
	ids := map[string]planned{}
	maps.Copy(ids, old.jobs)
	maps.Copy(ids, edited.jobs)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		before, had := old.jobs[id]
		after, has := edited.jobs[id]
		j := Job{ID: id, Paused: old.Paused[id], Fields: []Field{}, OldNext: []string{}, NewNext: []string{}}
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

// madeAtRunTime stands for the schedule of a template.
const madeAtRunTime = "made at run time (keyed)"

func (p planned) next(from time.Time, n int) []string {
	texts := []string{}
	if p.ParsedSchedule() == nil {
		return texts
	}
	for _, t := range p.ParsedSchedule().Upcoming(from, n) {
		texts = append(texts, t.UTC().Format(time.RFC3339))
	}
	return texts
}

// fields are all that is compared.
func (p planned) fields() fields {
	body := "default"
	if p.body != nil {
		body = string(p.body)
	}
	return append(Values(p.Job), Value{"body", body}, Value{"time zone data", p.zones})
}

// fields has the fields of a job on one side. It is nil if that side does not have the job.
type fields []Value

// against lists the fields that differ; nil means that there is no such job.
func (f fields) against(old fields) []Field {
	diffs := []Field{}
	for i := range max(len(f), len(old)) {
		var d Field
		if old != nil {
			d.Field, d.Old = old[i].Field, old[i].Value
		}
		if f != nil {
			d.Field, d.New = f[i].Field, f[i].Value
		}
		if d.Old != d.New {
			diffs = append(diffs, d)
		}
	}
	return diffs
}

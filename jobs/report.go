package jobs

import (
	"strings"

	"github.com/cronce/cronce/jobs/internal/field"
)

// report collects the problems of a registry.
type report struct {
	*field.Report
	file   string
	jobIDs map[string]string // "jobs[2]" -> the job's id
}

func newReport(file string, places field.Places) *report {
	return &report{field.NewReport(places), file, map[string]string{}}
}

func (r *report) jobOf(path string) string {
	job, _, _ := strings.Cut(path, ".")
	return r.jobIDs[job]
}

// found returns every problem, in the file's order. The jobs are named last, since
// an id may stand behind what is wrong with its job.
func (r *report) found() Problems {
	problems := make(Problems, len(r.Problems))
	for i, p := range r.Problems {
		problems[i] = Problem{File: r.file, Line: p.Line, Column: p.Column, Job: r.jobOf(p.Path), Code: p.Code, Message: p.Message}
	}
	problems.Sort()
	return problems
}

// err returns what found does as an error, or nil.
func (r *report) err() error {
	if problems := r.found(); len(problems) > 0 {
		return problems
	}
	return nil
}

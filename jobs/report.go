package jobs

import (
	"fmt"
	"strings"
)

// spot is a place in a file. text is the column at which a scalar's own text
// begins (behind its quote), or 0 where columns in the text are not columns in
// the file (escapes, block scalars).
type spot struct {
	line, column int
	text         int
}

// source says where each value of a registry stands. Paths are written as in
// "jobs[2].retry.backoff[0]"; the empty path is the whole file.
type source struct {
	file  string
	spots map[string]spot
}

// at is the place of the path, or of the nearest thing around it.
func (s source) at(path string) spot {
	for {
		if at, ok := s.spots[path]; ok || path == "" {
			return at
		}
		path = parent(path)
	}
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// report collects problems. One path is complained about once: what follows
// from a value that could not be read is not news.
type report struct {
	source
	jobIDs   map[string]string // "jobs[2]" -> the job's id
	seen     map[string]bool
	problems Problems
}

func newReport(src source) *report {
	return &report{source: src, jobIDs: map[string]string{}, seen: map[string]bool{}}
}

func (r *report) add(path, code, format string, args ...any) {
	r.addAt(path, r.at(path), code, format, args...)
}

func (r *report) addAt(path string, at spot, code, format string, args ...any) {
	if r.seen[path] {
		return
	}
	r.seen[path] = true
	r.problems = append(r.problems, Problem{
		File: r.file, Line: at.line, Column: at.column, Job: r.jobOf(path),
		Code: code, Message: fmt.Sprintf(format, args...),
	})
}

func (r *report) jobOf(path string) string {
	job, _, _ := strings.Cut(path, ".")
	return r.jobIDs[job]
}

// err is nil when nothing was found, else Problems in the file's order.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	r.problems.Sort()
	return r.problems
}

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

// report collects problems. It reports one problem a path, and none inside a value
// that could not be read.
type report struct {
	source
	jobIDs   map[string]string // "jobs[2]" -> the job's id
	seen     map[string]bool
	unread   map[string]bool
	problems Problems
	paths    []string // of the problems
}

func newReport(src source) *report {
	return &report{source: src, jobIDs: map[string]string{}, seen: map[string]bool{}, unread: map[string]bool{}}
}

func (r *report) add(path, code, format string, args ...any) {
	r.addAt(path, r.at(path), code, format, args...)
}

func (r *report) addAt(path string, at spot, code, format string, args ...any) {
	if r.seen[path] || r.isUnread(path) {
		return
	}
	r.seen[path] = true
	message := fmt.Sprintf(format, args...)
	if at.line == 0 && path != "" {
		message = path + ": " + message // built in Go: the path is the only place
	}
	r.problems = append(r.problems, Problem{
		File: r.file, Line: at.line, Column: at.column, Code: code, Message: message,
	})
	r.paths = append(r.paths, path)
}

func (r *report) isUnread(path string) bool {
	for ; path != ""; path = parent(path) {
		if r.unread[path] {
			return true
		}
	}
	return false
}

func (r *report) jobOf(path string) string {
	job, _, _ := strings.Cut(path, ".")
	return r.jobIDs[job]
}

// found is every problem, in the file's order. The jobs are named last, since
// an id may stand behind what is wrong with its job.
func (r *report) found() Problems {
	for i, path := range r.paths {
		r.problems[i].Job = r.jobOf(path)
	}
	r.problems.Sort()
	r.paths = nil
	return r.problems
}

// err is found as an error, nil when nothing was.
func (r *report) err() error {
	if problems := r.found(); len(problems) > 0 {
		return problems
	}
	return nil
}

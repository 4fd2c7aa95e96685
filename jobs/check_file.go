package jobs

import (
	"errors"

	"github.com/cronce/cronce/jobs/internal/field"
)

// CheckFile combines Load and CheckEnv, so that one call reports all problems of a
// registry file and of the environment. With a nil lookup it does not check the
// environment. The registry is nil if the file itself has problems.
func CheckFile(path string, lookup func(string) (string, bool)) (*Registry, Problems) {
	data, problem := read(path)
	if problem != nil {
		problem.File = path
		return nil, Problems{*problem}
	}
	d, err := parse(path, data)
	if err != nil {
		return nil, asProblems(err)
	}
	r, err := d.build()
	problems := asProblems(err)
	if lookup != nil {
		problems = append(problems, d.registry.CheckEnv(lookup)...)
		problems.Sort()
	}
	return r, problems
}

// asProblems returns the problems of which an error of parse or build consists.
func asProblems(err error) Problems {
	var problems Problems
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problems):
		return problems
	}
	return Problems{{Code: field.BadBody, Message: err.Error()}}
}

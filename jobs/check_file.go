package jobs

import "errors"

// CheckFile is Load and CheckEnv in one: all that is wrong with a registry file and
// with the environment that it names, so that one call reports all problems. A nil
// lookup leaves the environment out. The registry is nil if the file itself has
// problems.
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
		problems = append(problems, d.made.CheckEnv(lookup)...)
		problems.Sort()
	}
	return r, problems
}

// asProblems is what an error of parse or build consists of.
func asProblems(err error) Problems {
	var problems Problems
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problems):
		return problems
	}
	return Problems{{Code: CodeBadBody, Message: err.Error()}}
}

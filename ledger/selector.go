package ledger

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Traits are the owner and the labels of a job, and its target.
type Traits struct {
	Target string
	Owner  string
	Labels map[string]string
}

// Selector selects jobs by their IDs and Traits. Empty fields select all.
type Selector struct {
	Job    string   `json:"job,omitempty"` // an ID, perhaps of a template, or a pattern in which * stands for any text
	Owner  string   `json:"owner,omitempty"`
	Labels []string `json:"label,omitempty"` // each name=value, or a name; a job must have all
	Target string   `json:"target,omitempty"`
}

// Selects reports whether the selector selects a job.
func (s Selector) Selects(jobID string, t Traits) bool {
	for _, l := range s.Labels {
		name, want, exact := strings.Cut(l, "=")
		if value, has := t.Labels[name]; !has || exact && value != want {
			return false
		}
	}
	if !strings.Contains(s.Job, ":") { // a schedule is selected with its template
		jobID = RegistryJobID(jobID)
	}
	return (s.Job == "" || matchesPattern(s.Job, jobID)) && (s.Owner == "" || s.Owner == t.Owner) && (s.Target == "" || s.Target == t.Target)
}

// matchesPattern reports whether a pattern matches an ID. Only * is special.
func matchesPattern(pattern, id string) bool {
	matched, err := path.Match(pattern, id)
	return matched && err == nil && !strings.ContainsAny(pattern, `?[\`)
}

// Validate returns an error for a Job that is in no job's ID, such as a pattern of another
// program.
func (s Selector) Validate() error {
	other := strings.IndexFunc(s.Job, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letter && !strings.ContainsRune("._-:*", c)
	})
	if other < 0 {
		return nil
	}
	return fmt.Errorf("invalid job %q: write an ID of letters, digits, dots, dashes and underscores, a schedule as TEMPLATE:KEY, or a pattern with *, "+
		"which stands for any text", s.Job)
}

// String returns the selector in words: "job a-*, owner Billing, label env=prod".
func (s Selector) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("job", s.Job)
	add("owner", s.Owner)
	add("target", s.Target)
	for _, l := range s.Labels {
		add("label", l)
	}
	if len(parts) == 0 {
		return "all jobs"
	}
	return strings.Join(parts, ", ")
}

// selectStates returns those of the requested states that the action applies to. It
// returns all that the action applies to if none is requested, and a state that no
// run has if none is left.
func selectStates(from, requested []State) []State {
	if len(requested) == 0 {
		return from
	}
	both := slices.DeleteFunc(slices.Clone(from), func(s State) bool { return !slices.Contains(requested, s) })
	if len(both) == 0 {
		return []State{""}
	}
	return both
}

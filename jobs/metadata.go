package jobs

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs/internal/field"
)

// Bounds of Metadata, in characters.
const (
	maxDescription = 500
	maxOwner       = 100
	maxLabels      = 20 // of one job
	maxLabel       = 63 // a label's name, and its value
)

// Metadata describes a job to people. It is part of the job's definition, so a changed
// Metadata is a new revision of the job. It is not sent to targets.
type Metadata struct {
	Description string            `json:"description,omitempty"` // one line of at most 500 characters
	Owner       string            `json:"owner,omitempty"`       // a team or a person; default: that of Defaults
	Labels      map[string]string `json:"labels,omitempty"`      // for filters, at most 20; those of Defaults are added
}

// Defaults are the values for each job of a registry that sets none of its own. Labels and
// headers are added to a job's; one of the same name wins. Fields that only one job
// can have are ignored: ID, Schedule, Path, Body, KeyScope, Async, Description,
// HeartbeatURLEnv and Disabled.
type Defaults Job

func (d Defaults) enter(to *draft) { to.defaults = append(to.defaults, d) }

// LabelText returns the labels as text, sorted by name: "team=billing, tier=1".
func (m Metadata) LabelText() string {
	words := make([]string, 0, len(m.Labels))
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		words = append(words, name+"="+m.Labels[name])
	}
	return strings.Join(words, ", ")
}

func checkLabels(r *field.Report, path string, labels map[string]string) {
	if len(labels) > maxLabels {
		r.Add(path, field.OutOfRange, "labels has %d labels, the maximum is %d", len(labels), maxLabels)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		at := field.Join(path, name)
		if !labelName(name) {
			r.Add(at, codeBadName,
				"invalid label name %s; a name has 1 to %d letters, digits, dots, dashes, underscores and slashes, and starts with a letter or digit",
				field.Quoted(name), maxLabel)
			continue
		}
		checkLine(r, at, labels[name], maxLabel)
	}
}

// labelName allows no = and no comma, which part labels on the command line.
func labelName(name string) bool {
	return len(name) <= maxLabel && validToken(strings.ReplaceAll(name, "/", "-")) && name[0] != '/' && !punctuation(name[0])
}

// checkLine takes a text that can be shown anywhere: on one line, without characters
// that move or hide others.
func checkLine(r *field.Report, path, text string, most int) {
	if n := utf8.RuneCountInString(text); n > most {
		r.Add(path, field.OutOfRange, "%s has %d characters, the maximum is %d", field.Last(path), n, most)
		return
	}
	if found := plaintext.Check(text); found != "" {
		r.Add(path, CodeBadValue, "%s has %s, which cannot be shown; it is one line of text", field.Last(path), found)
	}
}

// line returns the kind of a text that checkLine takes.
func line(to *string, most int) field.Kind {
	return field.Checked(field.Text(to), func(r *field.Report, path string) { checkLine(r, path, *to, most) })
}

func labels(to *map[string]string) field.Kind {
	return field.Checked(field.TextMap(to), func(r *field.Report, path string) { checkLabels(r, path, *to) })
}

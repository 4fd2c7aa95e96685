package jobs

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/plaintext"
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
	Description string            // one line of at most 500 characters
	Owner       string            // a team or a person; default: that of Defaults
	Labels      map[string]string // for filters, at most 20; those of Defaults are added
}

// Defaults are the values for each job of a registry that sets none of its own.
type Defaults struct {
	Owner  string
	Labels map[string]string // a job's label of the same name wins
}

func (d Defaults) enter(to *draft) { to.defaults = append(to.defaults, d) }

// inherit adds the registry's defaults to a job's own.
func (m Metadata) inherit(from Defaults) Metadata {
	setDefault(&m.Owner, from.Owner)
	if len(m.Labels)+len(from.Labels) == 0 {
		m.Labels = nil
		return m
	}
	labels := maps.Clone(from.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, m.Labels)
	m.Labels = labels
	return m
}

// LabelText returns the labels as text, sorted by name: "team=billing, tier=1".
func (m Metadata) LabelText() string {
	words := make([]string, 0, len(m.Labels))
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		words = append(words, name+"="+m.Labels[name])
	}
	return strings.Join(words, ", ")
}

func (d *draft) checkMetadata(path string, a Metadata) {
	d.checkLine(path+".description", a.Description, maxDescription)
	d.checkLine(path+".owner", a.Owner, maxOwner)
	d.checkLabels(path+".labels", a.Labels)
}

func (d *draft) checkLabels(path string, labels map[string]string) {
	if len(labels) > maxLabels {
		d.add(path, codeOutOfRange, "labels has %d labels, the maximum is %d", len(labels), maxLabels)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		at := join(path, name)
		if !labelName(name) {
			d.add(at, codeBadName, "invalid label name %s; a name has 1 to %d letters, digits, dots, dashes, underscores and slashes, and starts with a letter or digit", quoted(name), maxLabel)
			continue
		}
		d.checkLine(at, labels[name], maxLabel)
	}
}

// labelName: no = and no comma, which part labels on the command line.
func labelName(name string) bool {
	return len(name) <= maxLabel && validToken(strings.ReplaceAll(name, "/", "-")) && name[0] != '/' && !punctuation(name[0])
}

// checkLine takes a text that can be shown anywhere: on one line, without characters
// that move or hide others.
func (d *draft) checkLine(path, text string, most int) {
	if n := utf8.RuneCountInString(text); n > most {
		d.add(path, codeOutOfRange, "%s has %d characters, the maximum is %d", field(path), n, most)
		return
	}
	if found := plaintext.Check(text); found != "" {
		d.add(path, CodeBadValue, "%s has %s, which cannot be shown; it is one line of text", field(path), found)
	}
}

package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of About, in characters.
const (
	maxDescription = 500
	maxOwner       = 100
	maxLabels      = 20 // of one job
	maxLabel       = 63 // a label's name, and its value
)

// About describes a job to people: its purpose, owner and labels. It is part of the
// job's definition, so a change of it is a new revision. It is not sent to targets.
type About struct {
	Description string            // one line
	Owner       string            // a team or a person; default the registry's
	Labels      map[string]string // for filters; those of Defaults are added
}

// Defaults are the values of every job of a registry that sets none of its own.
type Defaults struct {
	Owner  string
	Labels map[string]string // a job's label of the same name wins
}

func (d Defaults) enter(to *draft) { to.defaults = append(to.defaults, d) }

// inherit adds the registry's defaults to a job's own.
func (a About) inherit(from Defaults) About {
	setDefault(&a.Owner, from.Owner)
	if len(a.Labels)+len(from.Labels) == 0 {
		a.Labels = nil
		return a
	}
	labels := maps.Clone(from.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, a.Labels)
	a.Labels = labels
	return a
}

// LabelText returns the labels as text, sorted by name.
func (a About) LabelText() string {
	words := make([]string, 0, len(a.Labels))
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		words = append(words, name+"="+a.Labels[name])
	}
	return strings.Join(words, ", ")
}

func (d *draft) checkAbout(path string, a About) {
	d.checkLine(path+".description", a.Description, maxDescription)
	d.checkLine(path+".owner", a.Owner, maxOwner)
	d.checkLabels(path+".labels", a.Labels)
}

func (d *draft) checkLabels(path string, labels map[string]string) {
	if len(labels) > maxLabels {
		d.add(path, CodeOutOfRange, "labels has %d labels, the maximum is %d", len(labels), maxLabels)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		at := join(path, name)
		if !labelName(name) {
			d.add(at, CodeBadName, "invalid label name %s; a name has 1 to %d letters, digits, dots, dashes, underscores and slashes, and starts with a letter or digit", quoted(name), maxLabel)
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
		d.add(path, CodeOutOfRange, "%s has %d characters, the maximum is %d", field(path), n, most)
		return
	}
	for _, c := range text {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			d.add(path, CodeBadValue, "%s has the character %s, which cannot be shown; it is one line of text", field(path), fmt.Sprintf("%U", c))
			return
		}
	}
}

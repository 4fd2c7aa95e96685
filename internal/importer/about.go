package importer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/internal/plural"
)

// The bounds of a registry, in characters.
const (
	maxDescription = 500
	maxOwner       = 100
	maxLabels      = 20
	maxLabel       = 63
)

// labelName matches the names that a registry's labels can have.
var labelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)

// The annotations that say what a job is for and who owns it. The first one is of
// Kubernetes itself, the others are a convention.
const (
	describedBy     = "kubernetes.io/description"
	describedByToo  = "a8r.io/description"
	ownedBy         = "a8r.io/owner"
	lastAppliedFile = "kubectl.kubernetes.io/last-applied-configuration" // the manifest again
)

// describe takes over what the source says about the job.
func (e *entry) describe(text string) {
	e.sentence(&e.job.description, "description", text, maxDescription)
}

// sentence takes over a text that can be shown on one line.
func (e *entry) sentence(to *string, what, text string, most int) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case !shown(text, most):
		e.note(Description, "the %s is not taken over: a registry's has at most %d printable characters", what, most)
	case holdsSecret(text):
		e.note(Description, "the %s is not taken over: it holds what looks like a secret", what)
	default:
		*to = text
	}
}

func shown(text string, most int) bool {
	return plaintext.Is(text) && utf8.RuneCountInString(text) <= most
}

func holdsSecret(text string) bool { return slices.ContainsFunc(strings.Fields(text), looksSecret) }

// label takes over the labels that a registry can have.
func (e *entry) label(labels map[string]string) {
	var left []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		value := labels[name]
		if !labelName.MatchString(name) || !shown(value, maxLabel) || looksSecret(name) || holdsSecret(value) || len(e.job.labels) == maxLabels {
			left = append(left, printable(name))
			continue
		}
		if e.job.labels == nil {
			e.job.labels = map[string]string{}
		}
		e.job.labels[name] = value
	}
	if len(left) > 0 {
		e.note(Description,
			"labels not taken over: %s; a job has at most %d, names and values of at most %d characters, and no secrets", names(left), maxLabels,
			maxLabel)
	}
}

// annotate takes over the description and the owner.
func (e *entry) annotate(annotations map[string]string) {
	var left []string
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		switch text := annotations[name]; {
		case name == describedBy, name == describedByToo && annotations[describedBy] == "":
			e.describe(text)
		case name == ownedBy:
			e.sentence(&e.job.owner, "owner", text, maxOwner)
		case name != lastAppliedFile:
			left = append(left, printable(name))
		}
	}
	if len(left) > 0 {
		e.note(Description, "annotations not taken over: %s", names(left))
	}
}

// names returns the first few of a list as text.
func names(all []string) string {
	const most = 5
	if len(all) > most {
		return strings.Join(all[:most], ", ") + " and " + plural.Of(len(all)-most, "other")
	}
	return strings.Join(all, ", ")
}

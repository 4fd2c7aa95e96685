package jobs

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
)

// placeholderNames are the names that {{...}} may have in a body and in the values of headers.
// Each is a function of the registry, the run ID and the scheduled time alone.
var placeholderNames = []string{"jobId", "runId", "scheduledAt", "previousAt", "nextAt", "registry"}

// placeholderKey and those that begin with placeholderData are for templates: the key of
// a schedule, and what its data has in a field. placeholderAll is all of the data.
const (
	placeholderKey  = "key"
	placeholderAll  = "data"
	placeholderData = "data."
)

// placeholderSet is which placeholders a text may have.
type placeholderSet struct {
	names []string
	data  bool // also those of the data
}

func (s placeholderSet) has(name string) bool {
	return slices.Contains(s.names, name) || s.data && (name == placeholderAll || dataField(name))
}

// forMembers adds the key of a member.
func (s placeholderSet) forMembers(j Job) placeholderSet {
	if j.fansOut() && !slices.Contains(s.names, placeholderKey) {
		s.names = slices.Concat(s.names, []string{placeholderKey})
	}
	return s
}

// list returns all names, for messages.
func (s placeholderSet) list() string {
	names := s.names
	if s.data {
		names = slices.Concat(names, []string{placeholderAll, placeholderData + "FIELD"})
	}
	return strings.Join(names, ", ")
}

// dataField reports whether a placeholder names a field of the data, or one within
// others: data.format, data.report.format.
func dataField(name string) bool {
	fields, is := strings.CutPrefix(name, placeholderData)
	for field := range strings.SplitSeq(fields, ".") {
		is = is && validToken(field)
	}
	return is
}

const (
	openPlaceholder  = "{{" // a literal {{ is written {{{{
	closePlaceholder = "}}"
)

func hasPlaceholder(text string) bool { return strings.Contains(text, openPlaceholder) }

// EscapePlaceholders returns text with each {{ doubled, so that a body or header sends
// the text literally.
func EscapePlaceholders(text string) string {
	return strings.ReplaceAll(text, openPlaceholder, openPlaceholder+openPlaceholder)
}

// piece is the front of a text: what precedes a placeholder, and its name.
type piece struct {
	before string
	named  bool
	name   string
	open   bool // the placeholder has no end
}

// cutPiece cuts the first piece off a text. An escaped {{ ends a piece without a name.
func cutPiece(text string) (p piece, rest string) {
	before, after, found := strings.Cut(text, openPlaceholder)
	if !found {
		return piece{before: before}, ""
	}
	if literal, is := strings.CutPrefix(after, openPlaceholder); is {
		return piece{before: before + openPlaceholder}, literal
	}
	name, rest, closed := strings.Cut(after, closePlaceholder)
	return piece{before, true, strings.TrimSpace(name), !closed}, rest
}

// expand puts the values of a checked text's placeholders into it.
func expand(text string, value func(name string) string) string {
	var b strings.Builder
	for text != "" {
		var p piece
		p, text = cutPiece(text)
		b.WriteString(p.before)
		if p.named {
			b.WriteString(value(p.name))
		}
	}
	return b.String()
}

// placeholders returns the values for a run. previousAt and nextAt are the scheduled times
// strictly before and after scheduledAt, or empty if there is none. scheduledAt of an
// ad hoc run is the time at which it was requested.
func (j Job) placeholders(runID string, scheduledAt time.Time) func(name string) string {
	return func(name string) string {
		switch name {
		case "jobId":
			return j.ID
		case "runId":
			return runID
		case "registry":
			return j.registry
		case placeholderKey:
			return j.values().key
		case "scheduledAt":
			return timeText(scheduledAt)
		case "previousAt":
			return timeText(j.schedule.Last(scheduledAt.Add(-time.Second)))
		case "nextAt":
			return timeText(j.schedule.Next(scheduledAt))
		}
		return j.values().text(name)
	}
}

func timeText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return string(appendTime(nil, at))
}

// checkPlaceholders refuses unknown ones. It returns how many bytes the text has at
// most with their values.
func (d *draft) checkPlaceholders(path, text string, names placeholderSet) (most int, ok bool) {
	for text != "" {
		var p piece
		p, text = cutPiece(text)
		most += len(p.before)
		switch {
		case !p.named:
		case p.open || !letters(p.name) && !dataField(p.name):
			d.Add(path, codeBadPlaceholder, `{{ must be followed by a name and }}; valid names: %s; write {{{{ for a literal {{`, names.list())
			return 0, false
		case !names.has(p.name):
			d.Add(path, codeBadPlaceholder, `unknown placeholder %s; valid names: %s%s; write {{{{ for a literal {{`,
				field.Quoted(p.name), names.list(), field.DidYouMean(p.name, names.names))
			return 0, false
		default:
			most += MaxRunIDLength
		}
	}
	return most, true
}

func letters(s string) bool {
	for i := range len(s) {
		if !upper(s[i]) && (!lowerOrDigit(s[i]) || s[i] <= '9') && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/jobs/internal/field"
)

// keyedValues has the values of a template's placeholders in one of its schedules.
type keyedValues struct {
	key    string
	data   json.RawMessage
	fields map[string]any
	unfit  error
}

func (j Job) values() (v keyedValues) {
	if j.keyed != nil {
		v = *j.keyed
	}
	return v
}

// fieldsOf reads data, unless nothing is made of its fields. Very many schedules may be due at
// once, and it would be the most that a plan costs.
func (t Template) fieldsOf(data json.RawMessage) (map[string]any, error) {
	if object := bytes.HasPrefix(data, []byte("{")) && json.Valid(data); object && !t.readsData() {
		return nil, nil
	}
	return parseData(data)
}

// readsData reports whether a placeholder of the template is of the data.
func (t Template) readsData() bool {
	body, err := t.ownBody()
	for _, text := range []string{t.Path, string(body)} {
		for text != "" && err == nil {
			var p piece
			if p, text = cutPiece(text); p.named && (p.name == placeholderAll || dataField(p.name)) {
				return true
			}
		}
	}
	return err != nil
}

// missingData refuses a body for which the data has not all fields.
func (j Job) missingData() error {
	body, err := j.ownBody()
	for rest := string(body); rest != "" && err == nil; {
		var p piece
		if p, rest = cutPiece(rest); p.named && dataField(p.name) {
			if _, found := j.values().lookup(p.name); !found {
				err = j.values().missing(p.name)
			}
		}
	}
	return err
}

// path fills a path. What is put in is escaped, so that a key or data cannot lead to another path.
func (v keyedValues) path(template string) (string, error) {
	if !hasPlaceholder(template) {
		return template, nil
	}
	var bad error
	path := expand(template, func(name string) string {
		text, err := v.segment(name)
		if err != nil && bad == nil {
			bad = err
		}
		return escapeSegment(text)
	})
	if bad != nil {
		return "", bad
	}
	if why := badPath(path); why != "" {
		return "", problemOf(codeBadPath, "with this key and data %s", why)
	}
	return path, nil
}

// segment returns a value for a path: a text, a number, true or false.
func (v keyedValues) segment(name string) (string, error) {
	if name == placeholderKey {
		return v.key, nil
	}
	switch value, found := v.lookup(name); value := value.(type) {
	case string:
		if value != "" {
			return value, nil
		}
	case json.Number, bool:
		return fmt.Sprint(value), nil
	default:
		if !found {
			return "", v.missing(name)
		}
	}
	return "", problemOf(CodeBadData, "the template's path needs a text or a number in %s; give it one", name)
}

// lookup returns what the data has where a placeholder points.
func (v keyedValues) lookup(name string) (value any, found bool) {
	if name == placeholderAll {
		return v.fields, true
	}
	value = v.fields
	for field := range strings.SplitSeq(strings.TrimPrefix(name, placeholderData), ".") {
		fields, isObject := value.(map[string]any)
		if value, found = fields[field]; !isObject || !found {
			return nil, false
		}
	}
	return value, true
}

func (v keyedValues) missing(name string) error {
	names := make([]string, 0, len(v.fields))
	for field := range v.fields {
		names = append(names, placeholderData+field)
	}
	return problemOf(CodeBadData, "%s is missing, and the template needs it%s", name, suggest.DidYouMean(name, names))
}

// escapeSegment leaves no character that has a meaning in a path or a query.
func escapeSegment(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// text returns a value within a text: an object or list is written as JSON.
func (v keyedValues) text(name string) string {
	value, _ := v.lookup(name)
	if text, is := value.(string); is {
		return text
	}
	return string(v.json(name))
}

func (v keyedValues) json(name string) []byte {
	value, found := v.lookup(name)
	switch {
	case !found:
		return []byte("null")
	case name == placeholderAll && v.fields == nil:
		return []byte("{}")
	}
	written, _ := field.JSONText(value) // it was JSON
	return written
}

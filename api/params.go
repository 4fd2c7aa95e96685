package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
)

// params reads a query; err is the first thing that is wrong with it.
type params struct {
	values url.Values
	err    error
}

// query reads a request's parameters and allows only those that are named: a misspelt filter would
// select everything.
func query(r *http.Request, allowed ...string) *params {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &params{err: invalid("the query is malformed; percent-encode its values")}
	}
	p := &params{values: values}
	for name, given := range values {
		switch {
		case !slices.Contains(allowed, name):
			p.fail("unknown parameter %q; valid parameters: %s", name, cmp.Or(strings.Join(allowed, ", "), "none"))
		case len(given) > 1 && name != "state" && name != "label":
			p.fail("the parameter %s is given more than once", name)
		case slices.Contains(given, ""):
			p.fail("the parameter %s is empty; give it a value or leave it out", name)
		case slices.ContainsFunc(given, badText):
			p.fail("the parameter %s must be UTF-8 without control, directional or invisible characters", name)
		}
	}
	return p
}

func badText(s string) bool { return !plaintext.Is(s) }

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = invalid(fmt.Sprintf(format, args...))
	}
}

func (p *params) text(name string) string { return p.values.Get(name) }

// selection reads which jobs are asked for.
func (p *params) selection() operations.Selection {
	return operations.Selection{Job: p.text("job"), Owner: p.text("owner"), Labels: p.values["label"], Target: p.text("target")}
}

// time reads RFC 3339, zero for none.
func (p *params) time(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC() // may be in another year than the text
	if err != nil || t.Year() < 0 || t.Year() > 9999 {
		p.fail("invalid %s %q; use a time such as 2026-11-21T03:00:00Z, of the years 0 to 9999 in UTC", name, text)
	}
	return t
}

// count reads a number from 1 to most.
func (p *params) count(name string, otherwise, most int) int {
	text := p.text(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		p.fail("invalid %s %q; it must be from 1 to %d", name, text, most)
		return otherwise
	}
	return n
}

// flag reads true or false; false when it is left out.
func (p *params) flag(name string) bool {
	switch text := p.text(name); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		p.fail("invalid %s %q; valid values: true, false", name, text)
		return false
	}
}

// oneOf reads the values of a parameter that may be repeated. Each must be known.
func oneOf[T ~string](p *params, name string, known []T) (out []T) {
	if len(p.values[name]) > len(known) {
		p.fail("the parameter %s is given more than %d times", name, len(known))
		return nil
	}
	for _, text := range p.values[name] {
		if !slices.Contains(known, T(text)) {
			p.fail("unknown %s %q; valid values: %s", name, text, strings.Join(operations.Texts(known), ", "))
			return nil
		}
		out = append(out, T(text))
	}
	return out
}

// position is the last row of a page, as a cursor has it.
type position struct {
	List string `json:"l"`
	At   int64  `json:"a,omitempty"` // Unix seconds, or a number that orders the list
	ID   string `json:"i,omitempty"`
}

// String is the cursor: opaque to clients.
func (p position) String() string {
	text, _ := json.Marshal(p) // strings and a number
	return base64.RawURLEncoding.EncodeToString(text)
}

// earliestCursor and latestCursor bound the times of a cursor: years 0 to 9999.
const earliestCursor, latestCursor = -62167219200, 253402300799

// maxCursor is far more than String writes.
const maxCursor = 1000

// cursor reads the position in a list, zero for its start.
func (p *params) cursor(list string) (at position) {
	text := p.text("cursor")
	if text == "" {
		return at
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	timed := list != "audit" && list != "incidents" && (at.At < earliestCursor || at.At > latestCursor)
	if err != nil || len(text) > maxCursor || at.List != list || badText(at.ID) || timed {
		p.fail("invalid cursor; use next of an answer of the same list")
	}
	return at
}

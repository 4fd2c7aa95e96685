package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// functions are the functions that templates can call. Those that return template.HTML are not escaped again, so they
// put nothing into it but numbers, fixed words and what they have escaped.
var functions = template.FuncMap{
	"when":       when,
	"moment":     moment,
	"written":    written,
	"clock":      func(t time.Time, now clock) string { return now.format(t, clockLayout(t)) },
	"short":      short,
	"plural":     counted,
	"number":     thousands,
	"glyph":      glyph,
	"shape":      func(k kind) string { return shapeAt(k, 0, 0) },
	"kind":       func(r ledger.Run) kind { return kindOf(r.State, r.Replayed) },
	"kinds":      func() []kind { return kinds },
	"runPath":    runPath,
	"jobPath":    jobPath,
	"runsPath":   runsPath,
	"targetPath": targetPath,
	"templateOf": ledger.TemplateOf,
	"because":    operations.Because,
	"waits":      operations.WaitingFor,
	"exact":      func(t time.Time, now clock) string { return now.exact(t) },
	"quote":      shellQuote,
	"words":      func(command string) []string { return strings.Split(command, " ") },
	"add":        func(a, b int) int { return a + b },
	"dict":       dict,
	"columns":    columns,
}

// when writes a time relative to now, such as "5 min ago", with the exact time as its title. The script keeps it up to
// date.
func when(t time.Time, now clock) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return timeElement(t, now, " data-relative", relative(t, now.Time))
}

// moment writes an exact time, to the second.
func moment(t time.Time, now clock) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return timeElement(t, now, "", now.exact(t))
}

// written is moment for a time that package operations has written as text.
func written(text string, now clock) template.HTML {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "–"
	}
	return moment(t, now)
}

// timeElement writes a time as text for people and, in its attributes, exactly.
func timeElement(t time.Time, now clock, attribute, text string) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s"%s>%s</time>`,
		t.UTC().Format(time.RFC3339Nano), template.HTMLEscapeString(now.exact(t)), attribute, template.HTMLEscapeString(text)))
}

// glyph draws the shape of a kind, 12 by 14. It is hidden from screen readers, as the name of the kind is shown next to
// it.
func glyph(name any) template.HTML {
	k := kind(fmt.Sprint(name))
	if _, known := shapes[k]; !known {
		k = none
	}
	return template.HTML(fmt.Sprintf(`<svg class="glyph %s" viewBox="-2 0 12 14" aria-hidden="true"><path class="c" d="%s"/></svg>`, k,
		shapeAt(k, 0, 0)))
}

func runPath(id string) string { return "/runs/" + url.PathEscape(id) }

func jobPath(id string) string { return "/jobs/" + url.PathEscape(id) }

func targetPath(name string) string { return "/targets/" + url.PathEscape(name) }

// runsPath returns the address of the list of runs with a filter. pairs are as for address.
func runsPath(pairs ...string) string { return address("/runs", pairs...) }

// address returns a path with query parameters. pairs are name, value, and so on; those without a value are left out.
func address(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Add(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// shellQuote writes a word as a POSIX shell reads it. Every value in a command that a page shows goes through it:
// people copy these commands into a shell, and a job ID or a filter must not become a second command.
func shellQuote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%_+=:,./-", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// columns returns the heads of a table: names, each with its class after a bar if it has one. The class num is for
// numbers; a head of the class hidden is for screen readers alone.
func columns(heads ...string) (list []column) {
	for _, head := range heads {
		name, class, _ := strings.Cut(head, "|")
		list = append(list, column{Name: name, Class: class})
	}
	return list
}

// dict gives a template more than one value: name, value, and so on.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}

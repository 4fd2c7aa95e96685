package importer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
)

// render writes the registry. Texts from the source are quoted, so that none of them
// is YAML of its own.
func (b *builder) render(source Source) string {
	w := &strings.Builder{}
	if source != "" {
		b.renderHead(w, source)
	}
	fmt.Fprintf(w, "version: 1\nname: %s\n", quote(b.options.Name))
	fmt.Fprint(w, "targets:\n")
	for _, t := range b.targets {
		t.render(w)
	}
	fmt.Fprint(w, "jobs:\n")
	for _, j := range b.jobs {
		j.render(w)
	}
	return w.String()
}

// renderHead writes the comments above the registry.
func (b *builder) renderHead(w *strings.Builder, source Source) {
	fmt.Fprintf(w, "# yaml-language-server: $schema=%s\n", jobs.SchemaURL)
	fmt.Fprintf(w, "# Imported from %s by cronce import. Read what it printed on standard error: not all is the same.\n", source)
	fmt.Fprint(w, "# The name below identifies the caller of every idempotency key: choose it before the first run, and never change it.\n")
	fmt.Fprint(w, "#\n# The environment of cronce needs:\n")
	for _, name := range slices.Sorted(maps.Keys(b.variables)) {
		fmt.Fprintf(w, "#   %s  %s\n", name, comment(b.variables[name]))
	}
}

func (t *target) render(w *strings.Builder) {
	fmt.Fprintf(w, "  %s:\n    urlEnv: %s\n", quote(t.name), quote(t.urlEnv))
	if t.allowHTTP {
		fmt.Fprint(w, "    allowHTTP: true\n")
	}
	if t.ca != "" {
		fmt.Fprintf(w, "    tls: { ca: { file: %s } }\n", quote(t.ca))
	}
	a := t.auth
	if a.kind == "" {
		return
	}
	fmt.Fprintf(w, "    auth:\n      type: %s\n", a.kind)
	if a.kind == "sigv4" {
		fmt.Fprintf(w, "      region: %s\n      service: %s\n", quote(a.sigv4[0]), quote(a.sigv4[1]))
	}
	for _, field := range slices.Sorted(maps.Keys(a.fields)) {
		fmt.Fprintf(w, "      %s: { env: %s }\n", field, quote(a.fields[field]))
	}
	if len(a.headers) > 0 {
		fmt.Fprint(w, "      headers:\n")
	}
	for _, name := range slices.Sorted(maps.Keys(a.headers)) {
		fmt.Fprintf(w, "        %s: { env: %s }\n", quote(name), quote(a.headers[name]))
	}
}

func (j job) render(w *strings.Builder) {
	field := func(name, value string, given bool) {
		if given {
			fmt.Fprintf(w, "    %s: %s\n", name, value)
		}
	}
	if j.file != "" {
		fmt.Fprintf(w, "  # %s%s\n", comment(Difference{File: j.file, Line: j.line}.Place()), comment(j.called))
	}
	fmt.Fprintf(w, "  - id: %s\n", quote(j.id))
	field("description", strconv.Quote(j.description), j.description != "")
	field("owner", strconv.Quote(j.owner), j.owner != "")
	field("labels", flow(j.labels), len(j.labels) > 0)
	field("schedule", strconv.QuoteToASCII(j.schedule), true)
	field("timezone", quote(j.timezone), j.timezone != "UTC")
	field("dst", j.dst, j.timezone != "UTC" && j.dst != "once")
	field("spread", plural.Duration(j.spread), j.spread > 0)
	field("target", quote(j.target.name), true)
	field("method", quote(j.method), true)
	field("path", quote(j.path), true)
	field("headers", flow(j.headers), len(j.headers) > 0)
	body := strconv.QuoteToASCII(j.body) // its escapes are those of YAML's double quotes too
	if comment(j.body) == j.body {       // single quotes need no escapes within
		body = "'" + strings.ReplaceAll(j.body, "'", "''") + "'"
	}
	field("body", body, j.body != "")
	field("timeout", plural.Duration(j.timeout), j.timeout > 0)
	waits := make([]string, len(j.backoff))
	for i, wait := range j.backoff {
		waits[i] = plural.Duration(wait)
	}
	field("retry", "{ backoff: ["+strings.Join(waits, ", ")+"] }", j.hasBackoff)
	field("overlap", j.overlap, j.overlap != "" && j.overlap != "skip")
	field("catchUp", j.catchUp, j.catchUp != "" && j.catchUp != "latest")
	field("catchUpWindow", plural.Duration(j.catchUpWindow), j.catchUpWindow > 0)
	field("enabled", "false", j.disabled)
}

// flow returns a mapping on one line.
func flow(fields map[string]string) string {
	words := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		words = append(words, quote(name)+": "+strconv.Quote(fields[name]))
	}
	return "{ " + strings.Join(words, ", ") + " }"
}

// comment returns a text that cannot leave its line.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// plain matches texts that YAML reads as strings without quotes.
var plain = regexp.MustCompile(`^[A-Za-z/_][A-Za-z0-9/_.-]*$`)

// quote returns a YAML scalar.
func quote(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan":
	default:
		if plain.MatchString(text) {
			return text
		}
	}
	return strconv.QuoteToASCII(text)
}

package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// fileField is a row of the tables of the registry file's fields: its name, how it is
// written and where its value goes to, and its text in the reference and the JSON Schema.
// Decoder, schema, reference, simple checks and defaults are all made from the rows.
type fileField struct {
	name string
	kind kind
	doc  string
}

// kind is how the value of a field is written, with the place that it goes to.
type kind interface {
	// decode reads the value, which is neither null nor an alias.
	decode(d *decoder, path string, n ast.Node)
	schema() schema
	// check reports a value that is wrong whatever the other fields are. It holds for
	// values that are set in Go too. The zero value is never wrong.
	check(r *report, path string)
	// inherit sets the value to that of another field of the same kind, if it is not set.
	inherit(from kind)
}

// fielded is what has a table of fields. The rows point into it.
type fielded interface{ fields() []fileField }

// required marks a field that the file must have. Whether it has, its owner checks.
type required struct{ kind }

// own marks a field of a job that defaults cannot have.
type own struct{ kind }

func isRequired(k kind) bool {
	_, is := k.(required)
	return is
}

// ofOneJob reports whether defaults cannot have the field.
func ofOneJob(k kind) bool {
	_, is := k.(own)
	return is || isRequired(k)
}

// text is a string, or one of some words.
type text struct {
	to    *string
	words []string // none: any
}

func str(to *string) kind { return text{to: to} }

// word is one of the words of a type.
func word[S ~string](to *string, words ...S) text {
	t := text{to: to}
	for _, w := range words {
		t.words = append(t.words, string(w))
	}
	return t
}

func (t text) decode(d *decoder, path string, n ast.Node) {
	got, ok := textOf(n)
	if !ok {
		d.wrongType(path, n, "a string")
		return
	}
	*t.to = got
}

func (t text) schema() schema {
	s := schema{"type": "string"}
	if len(t.words) > 0 {
		s["enum"] = t.words
	}
	return s
}

func (t text) check(r *report, path string) {
	if *t.to != "" && len(t.words) > 0 {
		oneOf(r, path, field(path), *t.to, t.words...)
	}
}

func (t text) inherit(from kind) { setDefault(t.to, *from.(text).to) }

// method is the HTTP method of a call.
type method struct{ text }

func (m method) check(r *report, path string) {
	if *m.to != "" && !slices.Contains(m.words, *m.to) {
		r.add(path, codeBadMethod, "unknown method %s; valid values: %s (in capitals)", quoted(*m.to), strings.Join(m.words, ", "))
	}
}

func (m method) inherit(from kind) { m.text.inherit(from.(method).text) }

// line is a string that can be shown anywhere: see checkLine.
type line struct {
	text
	most int // characters
}

func (l line) check(r *report, path string) { r.checkLine(path, *l.to, l.most) }

func (l line) inherit(from kind) { setDefault(l.to, *from.(line).to) }

// oneTarget is a field of which a job has one: inheriting is for a job that has none.
type oneTarget struct {
	text
	other *string
}

func (t oneTarget) inherit(from kind) {
	if *t.other == "" {
		setDefault(t.to, *from.(oneTarget).to)
	}
}

// flag is true or false. not turns it around.
type flag struct {
	to  *bool
	not bool
}

func (f flag) decode(d *decoder, path string, n ast.Node) {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		d.wrongType(path, n, "true or false")
		return
	}
	*f.to = b.Value != f.not
}

func (flag) schema() schema        { return schema{"type": "boolean"} }
func (flag) check(*report, string) {}
func (f flag) inherit(from kind)   { setDefault(f.to, *from.(flag).to) }

// count is a whole number that is not negative, or, if it is set, not below least.
type count struct {
	to    *int
	least int
}

func (c count) decode(d *decoder, path string, n ast.Node) {
	if d.ambiguous(path, n) {
		return
	}
	i, ok := integer(n)
	if !ok {
		d.wrongType(path, n, "a whole number")
		return
	}
	*c.to = int(i)
}

func (count) schema() schema      { return schema{"type": "integer", "minimum": 0} }
func (c count) inherit(from kind) { setDefault(c.to, *from.(count).to) }

func (c count) check(r *report, path string) {
	if *c.to != 0 {
		r.atLeast(path, *c.to, c.least)
	}
}

// fraction is a number from 0 to 1. It keeps 0 as -1, since its zero value means that it is
// not set.
type fraction struct{ to *float64 }

func (f fraction) decode(d *decoder, path string, n ast.Node) {
	if d.ambiguous(path, n) {
		return
	}
	got, ok := number(n)
	switch {
	case !ok:
		d.wrongType(path, n, "a number")
	case got < 0 || got > 1:
		d.add(path, codeOutOfRange, "%s %v is out of range; valid values are 0 to 1", field(path), got)
	case got == 0:
		*f.to = -1
	default:
		*f.to = got
	}
}

func (fraction) schema() schema { return schema{"type": "number", "minimum": 0, "maximum": 1} }

func (f fraction) check(r *report, path string) {
	if *f.to > 1 || *f.to != *f.to {
		r.add(path, codeOutOfRange, "%s %v is out of range; it is a fraction, from 0 to 1", field(path), *f.to)
	}
}

func (f fraction) inherit(from kind) { setDefault(f.to, *from.(fraction).to) }

// texts is a list of strings.
type texts struct{ to *[]string }

func (t texts) decode(d *decoder, path string, n ast.Node) {
	*t.to = []string{}
	d.list(path, n, func(path string, item ast.Node) {
		var one string
		d.value(path, item, str(&one))
		*t.to = append(*t.to, one)
	})
}

func (texts) schema() schema        { return schema{"type": "array", "items": schema{"type": "string"}} }
func (texts) check(*report, string) {}

func (t texts) inherit(from kind) {
	if *t.to == nil {
		*t.to = *from.(texts).to
	}
}

// textMap is a map of strings. It inherits the entries whose names it lacks.
type textMap struct{ to *map[string]string }

func (t textMap) decode(d *decoder, path string, n ast.Node) {
	*t.to = map[string]string{}
	d.mapping(path, n, func(name, path string, value ast.Node) {
		var one string
		d.value(path, value, str(&one))
		(*t.to)[name] = one
	})
}

func (textMap) schema() schema {
	return schema{"type": "object", "additionalProperties": schema{"type": "string"}}
}
func (textMap) check(*report, string) {}

func (t textMap) inherit(from kind) {
	more := *from.(textMap).to
	if len(*t.to)+len(more) == 0 {
		*t.to = nil
		return
	}
	all := maps.Clone(more) // the job's own map may be the caller's
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, *t.to)
	*t.to = all
}

// labels are a textMap for filters: see checkLabels.
type labels struct{ textMap }

func (l labels) check(r *report, path string) { r.checkLabels(path, *l.to) }
func (l labels) inherit(from kind)            { l.textMap.inherit(from.(labels).textMap) }

// durations is a list of durations, each of which may be zero.
type durations struct {
	to   *[]time.Duration
	most time.Duration
	n    int // of them, at most
}

func (k durations) decode(d *decoder, path string, n ast.Node) {
	*k.to = []time.Duration{} // as one that is not set has a default
	d.list(path, n, func(path string, item ast.Node) {
		var one time.Duration
		d.value(path, item, duration{to: &one})
		*k.to = append(*k.to, one)
	})
}

func (durations) schema() schema { return schema{"type": "array", "items": duration{}.schema()} }

func (k durations) check(r *report, path string) {
	for i, wait := range *k.to {
		r.between(fmt.Sprintf("%s[%d]", path, i), wait, 0, k.most)
	}
	if n := len(*k.to); n > k.n {
		r.add(path, codeOutOfRange, "%s has %d waits, the maximum is %d", field(path), n, k.n)
	}
}

func (k durations) inherit(from kind) {
	if *k.to == nil {
		*k.to = *from.(durations).to
	}
}

// single is an object that is handed on if the file has it.
type single struct {
	make func() fielded
	add  func(fielded)
}

func (k single) decode(d *decoder, path string, n ast.Node) {
	one := k.make()
	fieldsOf(one).decode(d, path, n)
	k.add(one)
}

func (k single) schema() schema      { return k.one().schema() }
func (k single) one() object         { return fieldsOf(k.make()) }
func (single) check(*report, string) {}
func (single) inherit(kind)          {}

// object is a mapping with fields of its own.
type object struct {
	of   fielded
	rows []fileField
}

func fieldsOf(of fielded) object { return object{of, of.fields()} }

// given is what an object of the file does that has none of its fields.
type given interface{ given(r *report, path string) }

func (o object) decode(d *decoder, path string, n ast.Node) {
	for _, e := range d.entries(path, n) {
		i := slices.IndexFunc(o.rows, func(f fileField) bool { return f.name == e.name })
		if i < 0 {
			d.addAt(join(path, e.name), e.at, codeUnknownField, "unknown field %s%s%s",
				quoted(e.name), within(path), didYouMean(e.name, fieldNames(o.rows)))
			continue
		}
		d.value(join(path, e.name), e.value, o.rows[i].kind)
	}
	if g, ok := o.of.(given); ok {
		g.given(d.report, path)
	}
}

func (o object) schema() schema {
	properties, must := schema{}, []string{}
	for _, f := range o.rows {
		property := f.kind.schema()
		property["description"] = f.doc
		if isRequired(f.kind) {
			must = append(must, f.name)
		}
		properties[f.name] = property
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(must) > 0 {
		s["required"] = must
	}
	return s
}

func (o object) check(r *report, path string) {
	for _, f := range o.rows {
		f.kind.check(r, join(path, f.name))
	}
}

func (o object) inherit(from kind) {
	for i, f := range from.(object).rows {
		if !ofOneJob(f.kind) {
			o.rows[i].kind.inherit(f.kind)
		}
	}
}

// each is a list of objects, which are handed on one by one.
type each struct{ single }

func (k each) decode(d *decoder, path string, n ast.Node) {
	d.list(path, n, func(path string, item ast.Node) {
		one := k.make()
		d.value(path, item, fieldsOf(one))
		k.add(one)
	})
}

func (k each) schema() schema { return schema{"type": "array", "items": k.one().schema()} }

// byName is a map of objects, which are handed on one by one.
type byName struct {
	single
	add func(name string, one fielded)
}

func (k byName) decode(d *decoder, path string, n ast.Node) {
	d.mapping(path, n, func(name, path string, value ast.Node) {
		one := k.make()
		d.value(path, value, fieldsOf(one))
		k.add(name, one)
	})
}

func (k byName) schema() schema {
	return schema{"type": "object", "additionalProperties": k.one().schema()}
}

package field

import (
	"fmt"
	"maps"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// text is a string, or one of some words.
type text struct {
	to    *string
	words []string // none: any
}

// Text is any string.
func Text(to *string) Kind { return text{to: to} }

// Word is one of the words of a type.
func Word[S ~string](to *string, words ...S) Kind {
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

func (t text) Schema() Schema {
	s := Schema{"type": "string"}
	if len(t.words) > 0 {
		s["enum"] = t.words
	}
	return s
}

func (t text) check(r *Report, path string) {
	if *t.to != "" && len(t.words) > 0 {
		OneOf(r, path, Last(path), *t.to, t.words...)
	}
}

func (t text) inherit(from Kind) { setDefault(t.to, *from.(text).to) }

// Bool is true or false.
func Bool(to *bool) Kind { return flag{to: to} }

// Not is Bool for a value that is kept turned around.
func Not(to *bool) Kind { return flag{to, true} }

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

func (flag) Schema() Schema        { return Schema{"type": "boolean"} }
func (flag) check(*Report, string) {}
func (f flag) inherit(from Kind)   { setDefault(f.to, *from.(flag).to) }

// Count is a whole number. If it is set, it is not below least.
func Count(to *int, least int) Kind { return count{to, least} }

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

func (count) Schema() Schema      { return Schema{"type": "integer", "minimum": 0} }
func (c count) inherit(from Kind) { setDefault(c.to, *from.(count).to) }

func (c count) check(r *Report, path string) {
	if *c.to != 0 {
		r.AtLeast(path, *c.to, c.least)
	}
}

// Fraction is a number from 0 to 1. 0 is kept as -1, since the zero value means that it is
// not set.
func Fraction(to *float64) Kind { return fraction{to} }

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
		d.Add(path, OutOfRange, "%s %v is out of range; valid values are 0 to 1", Last(path), got)
	case got == 0:
		*f.to = -1
	default:
		*f.to = got
	}
}

func (fraction) Schema() Schema { return Schema{"type": "number", "minimum": 0, "maximum": 1} }

func (f fraction) check(r *Report, path string) {
	if *f.to > 1 || *f.to != *f.to {
		r.Add(path, OutOfRange, "%s %v is out of range; it is a fraction, from 0 to 1", Last(path), *f.to)
	}
}

func (f fraction) inherit(from Kind) { setDefault(f.to, *from.(fraction).to) }

// Texts is a list of strings.
func Texts(to *[]string) Kind { return texts{to} }

type texts struct{ to *[]string }

func (t texts) decode(d *decoder, path string, n ast.Node) {
	*t.to = []string{}
	d.list(path, n, func(path string, item ast.Node) {
		var one string
		d.value(path, item, Text(&one))
		*t.to = append(*t.to, one)
	})
}

func (texts) Schema() Schema        { return Schema{"type": "array", "items": Schema{"type": "string"}} }
func (texts) check(*Report, string) {}

func (t texts) inherit(from Kind) {
	if *t.to == nil {
		*t.to = *from.(texts).to
	}
}

// TextMap is a map of strings. It inherits the entries whose names it lacks.
func TextMap(to *map[string]string) Kind { return textMap{to} }

type textMap struct{ to *map[string]string }

func (t textMap) decode(d *decoder, path string, n ast.Node) {
	*t.to = map[string]string{}
	d.mapping(path, n, func(name, path string, value ast.Node) {
		var one string
		d.value(path, value, Text(&one))
		(*t.to)[name] = one
	})
}

func (textMap) Schema() Schema {
	return Schema{"type": "object", "additionalProperties": Schema{"type": "string"}}
}
func (textMap) check(*Report, string) {}

func (t textMap) inherit(from Kind) {
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

// Durations is a list of at most n durations, each at most most. Each may be zero.
func Durations(to *[]time.Duration, most time.Duration, n int) Kind { return durations{to, most, n} }

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

func (durations) Schema() Schema { return Schema{"type": "array", "items": duration{}.Schema()} }

func (k durations) check(r *Report, path string) {
	for i, wait := range *k.to {
		r.Between(fmt.Sprintf("%s[%d]", path, i), wait, 0, k.most)
	}
	if n := len(*k.to); n > k.n {
		r.Add(path, OutOfRange, "%s has %d waits, the maximum is %d", Last(path), n, k.n)
	}
}

func (k durations) inherit(from Kind) {
	if *k.to == nil {
		*k.to = *from.(durations).to
	}
}

// Version is the version of a file's format, which is 1.
func Version() Kind { return version{} }

type version struct{}

func (version) decode(d *decoder, path string, n ast.Node) {
	got := 1
	if (count{to: &got}).decode(d, path, n); got != 1 {
		d.Add(path, FormatVersion, "unsupported version %d; this program reads version 1", got)
	}
}

func (version) Schema() Schema        { return Schema{"type": "integer", "minimum": 0, "enum": []int{1}} }
func (version) check(*Report, string) {}
func (version) inherit(Kind)          {}

// Nested returns the fields of the object that a field holds, or that its elements are.
func (f Row) Nested() (Table, bool) {
	switch k := bare(f.Kind).(type) {
	case Table:
		return k, true
	case shared:
		return Object(k.of), true
	case interface{ one() Table }:
		return k.one(), true
	}
	return Table{}, false
}

func bare(k Kind) Kind {
	switch k := k.(type) {
	case required:
		return bare(k.Kind)
	case own:
		return bare(k.Kind)
	}
	return k
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

package field

import (
	"github.com/goccy/go-yaml/ast"
)

// Row is a field of an object: its name, how it is written and where its value goes to, and
// its text in the reference and the JSON Schema.
type Row struct {
	Name string
	Kind Kind
	Doc  string
}

// Of returns a Row.
func Of(name string, kind Kind, doc string) Row { return Row{name, kind, doc} }

// Fielded is implemented by types that have a table of fields. The rows point into the value.
type Fielded interface{ Fields() []Row }

// Schema is a JSON Schema.
type Schema = map[string]any

// Kind decodes a field's value to a place, and describes it in the schema.
type Kind interface {
	Schema() Schema
	// decode reads the value, which is neither null nor an alias.
	decode(d *decoder, path string, n ast.Node)
	// check reports a value that is wrong whatever the other fields are. It holds for
	// values that are set in Go too. The zero value is never wrong.
	check(r *Report, path string)
	// inherit sets the value to that of another field of the same kind, if it is not set.
	inherit(from Kind)
}

// Required marks a field that the file must have. Whether it has, its owner checks. Like
// one with Own, it is not inherited.
func Required(k Kind) Kind { return required{k} }

type required struct{ Kind }

// Own marks a field that is not inherited.
func Own(k Kind) Kind { return own{k} }

type own struct{ Kind }

// Checked adds a check to a field.
func Checked(k Kind, check func(r *Report, path string)) Kind { return checked{k, check} }

type checked struct {
	Kind
	also func(r *Report, path string)
}

func (c checked) check(r *Report, path string) {
	c.Kind.check(r, path)
	c.also(r, path)
}

func (c checked) inherit(from Kind) { c.Kind.inherit(from.(checked).Kind) }

// Unless marks a field that is not inherited if another has a value.
func Unless(other *string, k Kind) Kind { return unless{k, other} }

type unless struct {
	Kind
	other *string
}

func (u unless) inherit(from Kind) {
	if *u.other == "" {
		u.Kind.inherit(from.(unless).Kind)
	}
}

// IsRequired reports whether the field is marked so.
func (f Row) IsRequired() bool {
	_, is := f.Kind.(required)
	return is
}

// IsShared reports whether the field can be inherited.
func (f Row) IsShared() bool {
	_, is := f.Kind.(own)
	return !is && !f.IsRequired()
}

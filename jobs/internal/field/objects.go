package field

import (
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Single is an object that is handed on if the file has it.
func Single(make func() Fielded, add func(Fielded)) Kind { return single{make, add} }

type single struct {
	make func() Fielded
	add  func(Fielded)
}

func (k single) decode(d *decoder, path string, n ast.Node) {
	one := k.make()
	Object(one).decode(d, path, n)
	k.add(one)
}

func (k single) Schema() Schema      { return k.one().Schema() }
func (k single) one() Table          { return Object(k.make()) }
func (single) check(*Report, string) {}
func (single) inherit(Kind)          {}

// Object is a mapping with fields of its own. If it is a Given, it hears that the file has
// it.
func Object(of Fielded) Table { return Table{of, of.Fields()} }

// Table is the fields of an object.
type Table struct {
	Of   Fielded
	Rows []Row
}

// Given is an object for which it matters whether the file has it, even with no field in it.
type Given interface{ Given(r *Report, path string) }

func (o Table) decode(d *decoder, path string, n ast.Node) {
	for _, e := range d.entries(path, n) {
		i := slices.IndexFunc(o.Rows, func(f Row) bool { return f.Name == e.name })
		if i < 0 {
			d.AddAt(Join(path, e.name), e.at, UnknownField, "unknown field %s%s%s",
				Quoted(e.name), within(path), DidYouMean(e.name, fieldNames(o.Rows)))
			continue
		}
		d.value(Join(path, e.name), e.value, o.Rows[i].Kind)
	}
	if g, ok := o.Of.(Given); ok {
		g.Given(d.Report, path)
	}
}

func (o Table) Schema() Schema {
	properties, must := Schema{}, []string{}
	for _, f := range o.Rows {
		property := f.Kind.Schema()
		property["description"] = f.Doc
		if f.IsRequired() {
			must = append(must, f.Name)
		}
		properties[f.Name] = property
	}
	s := Schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(must) > 0 {
		s["required"] = must
	}
	return s
}

// Check reports the values of fields that are wrong whatever the others are.
func (o Table) Check(r *Report, path string) { o.check(r, path) }

// Inherit takes the values of those fields that are not set from another object, if they
// can be shared.
func (o Table) Inherit(from Table) { o.inherit(from) }

func (o Table) check(r *Report, path string) {
	for _, f := range o.Rows {
		f.Kind.check(r, Join(path, f.Name))
	}
}

func (o Table) inherit(from Kind) {
	for i, f := range from.(Table).Rows {
		if f.IsShared() {
			o.Rows[i].Kind.inherit(f.Kind)
		}
	}
}

// Each is a list of objects, which are handed on one by one.
func Each(make func() Fielded, add func(Fielded)) Kind { return each{single{make, add}} }

type each struct{ single }

func (k each) decode(d *decoder, path string, n ast.Node) {
	d.list(path, n, func(path string, item ast.Node) {
		one := k.make()
		d.value(path, item, Object(one))
		k.add(one)
	})
}

func (k each) Schema() Schema { return Schema{"type": "array", "items": k.one().Schema()} }

// ByName is a map of objects, which are handed on one by one.
func ByName(make func() Fielded, add func(name string, one Fielded)) Kind {
	return byName{single{make: make}, add}
}

type byName struct {
	single
	add func(name string, one Fielded)
}

func (k byName) decode(d *decoder, path string, n ast.Node) {
	d.mapping(path, n, func(name, path string, value ast.Node) {
		one := k.make()
		d.value(path, value, Object(one))
		k.add(name, one)
	})
}

func (k byName) Schema() Schema {
	return Schema{"type": "object", "additionalProperties": k.one().Schema()}
}

// Shared is an object that many fields have. The reference has one section for all.
func Shared(of Fielded) Kind { return shared{of} }

type shared struct{ of Fielded }

func (s shared) decode(d *decoder, path string, n ast.Node) { Object(s.of).decode(d, path, n) }
func (s shared) Schema() Schema                             { return Object(s.of).Schema() }
func (shared) check(*Report, string)                        {}
func (shared) inherit(Kind)                                 {}

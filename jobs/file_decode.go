package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxValues bounds what aliases may expand to: a file of MaxFileSize has no
// more values of its own.
const maxValues = MaxFileSize / 2

// decoder fills the file's types from a syntax tree. It goes on after every
// complaint, and notes where each value stands.
type decoder struct {
	*report
	anchors map[string]ast.Node
	open    map[string]bool // anchors being expanded
	fields  map[reflect.Type][]fileField
	values  int
}

func newDecoder(r *report) *decoder {
	return &decoder{report: r, anchors: map[string]ast.Node{}, open: map[string]bool{}, fields: map[reflect.Type][]fileField{}}
}

func (d *decoder) decode(root ast.Node, doc *document) {
	d.value("", root, reflect.ValueOf(doc).Elem())
}

// value decodes one node, anchors and aliases resolved.
func (d *decoder) value(path string, n ast.Node, to reflect.Value) {
	if d.values++; d.values > maxValues {
		d.add("", codeTooMuch, "the file's aliases expand to more than %d values; write out what you need", maxValues)
		return
	}
	if _, placed := d.spots[path]; !placed || path == "" {
		d.spots[path] = place(n)
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		d.anchors[n.Name.String()] = n.Value
		d.inside(path, n.Name.String(), func() { d.value(path, n.Value, to) })
	case *ast.AliasNode:
		if target := d.alias(path, n); target != nil {
			d.inside(path, n.Value.String(), func() { d.value(path, target, to) })
		}
	case *ast.NullNode:
		// As if it was not written.
	default:
		d.plain(path, n, to)
	}
}

// alias returns the node that an alias refers to, or nil after it has reported a problem.
func (d *decoder) alias(path string, n *ast.AliasNode) ast.Node {
	name := n.Value.String()
	target, ok := d.anchors[name]
	switch {
	case !ok:
		d.add(path, codeBadAlias, "the alias *%[2]s has no anchor &%[1]s before it", name, name)
		return nil
	case d.open[name]:
		d.add(path, codeBadAlias, "the alias *%s is inside its own anchor", name)
		return nil
	}
	return target
}

func (d *decoder) inside(path, anchor string, decode func()) {
	if d.open[anchor] {
		d.add(path, codeBadAlias, "the anchor &%s is inside an anchor of the same name", anchor)
		return
	}
	d.open[anchor] = true
	decode()
	delete(d.open, anchor)
}

var (
	delayType  = reflect.TypeFor[delay]()
	periodType = reflect.TypeFor[period]()
	spanType   = reflect.TypeFor[span]()
	bodyType   = reflect.TypeFor[yamlBody]()
)

func (d *decoder) plain(path string, n ast.Node, to reflect.Value) {
	switch to.Type() {
	case delayType, periodType, spanType:
		d.duration(path, n, to)
		return
	case bodyType:
		d.body(path, n, to)
		return
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		d.plain(path, n, to.Elem())
	case reflect.Struct:
		d.structure(path, n, to)
	case reflect.Map:
		d.mapping(path, n, to)
	case reflect.Slice:
		d.list(path, n, to)
	default:
		d.scalar(path, n, to)
	}
}

func (d *decoder) structure(path string, n ast.Node, to reflect.Value) {
	fields := d.fieldsOf(to.Type())
	for _, e := range d.entries(path, n) {
		i := slices.IndexFunc(fields, func(f fileField) bool { return f.name == e.name })
		if i < 0 {
			d.addAt(join(path, e.name), e.at, codeUnknownField, "unknown field %s%s%s",
				quoted(e.name), within(path), didYouMean(e.name, fieldNames(fields)))
			continue
		}
		d.value(join(path, e.name), e.value, to.Field(i))
	}
}

func (d *decoder) mapping(path string, n ast.Node, to reflect.Value) {
	to.Set(reflect.MakeMap(to.Type()))
	for _, e := range d.entries(path, n) {
		d.spots[join(path, e.name)] = e.at
		value := reflect.New(to.Type().Elem()).Elem()
		d.value(join(path, e.name), e.value, value)
		to.SetMapIndex(reflect.ValueOf(e.name), value)
	}
}

func (d *decoder) list(path string, n ast.Node, to reflect.Value) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrongType(path, n, "a list")
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), len(list.Values), len(list.Values)))
	for i, item := range list.Values {
		d.value(fmt.Sprintf("%s[%d]", path, i), item, to.Index(i))
	}
}

// fileField is a field of one of the file's types.
type fileField struct {
	name string
	reflect.StructField
}

// fieldsOf is fieldsOf, once for each type: a job's has twenty.
func (d *decoder) fieldsOf(t reflect.Type) []fileField {
	fields, known := d.fields[t]
	if !known {
		fields = fieldsOf(t)
		d.fields[t] = fields
	}
	return fields
}

func fieldsOf(t reflect.Type) []fileField {
	fields := make([]fileField, t.NumField())
	for i := range fields {
		f := t.Field(i)
		fields[i] = fileField{name: f.Tag.Get("yaml"), StructField: f}
	}
	return fields
}

func fieldNames(fields []fileField) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// join quotes names that a terminal might take for more than text.
func join(path, name string) string {
	if !visibleASCII(name) {
		name = strconv.QuoteToASCII(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// within is ` in jobs[2]` for messages.
func within(path string) string {
	if path == "" {
		return " in the registry"
	}
	return " in " + path
}

// place is where a value begins; text is set where the value is written
// literally, so that its columns are the file's.
func place(n ast.Node) spot {
	tk := first(n)
	at := spotOf(tk)
	if tk == nil {
		return at
	}
	switch {
	case strings.ContainsAny(tk.Origin, "\\") || strings.Contains(strings.TrimSpace(tk.Origin), "\n"):
	case tk.Type == token.StringType:
		at.text = at.column
	case tk.Type == token.DoubleQuoteType, tk.Type == token.SingleQuoteType && !strings.Contains(tk.Value, "'"):
		at.text = at.column + 1
	}
	return at
}

// first is the first token of a value: of a mapping, its first key.
func first(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return first(n.Values[0])
		}
	case *ast.MappingValueNode:
		return first(n.Key)
	case *ast.AnchorNode:
		if n.Value != nil {
			return first(n.Value)
		}
	}
	return n.GetToken()
}

package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxValues bounds what aliases may expand to: a file of MaxFileSize has no
// more values of its own.
const maxValues = MaxFileSize / 2

// decoder reads values from a syntax tree, each as its kind says. It goes on after every
// complaint, and notes where each value stands.
type decoder struct {
	*report
	anchors map[string]ast.Node
	open    map[string]bool // anchors being expanded
	values  int
}

func newDecoder(r *report) *decoder {
	return &decoder{report: r, anchors: map[string]ast.Node{}, open: map[string]bool{}}
}

// value decodes one node, anchors and aliases resolved.
func (d *decoder) value(path string, n ast.Node, to kind) {
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
		to.decode(d, path, n)
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

func (d *decoder) mapping(path string, n ast.Node, decode func(name, path string, value ast.Node)) {
	for _, e := range d.entries(path, n) {
		at := join(path, e.name)
		d.spots[at] = e.at
		decode(e.name, at, e.value)
	}
}

func (d *decoder) list(path string, n ast.Node, decode func(path string, item ast.Node)) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrongType(path, n, "a list")
		return
	}
	for i, item := range list.Values {
		decode(fmt.Sprintf("%s[%d]", path, i), item)
	}
}

func fieldNames(rows []fileField) []string {
	names := make([]string, len(rows))
	for i, f := range rows {
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

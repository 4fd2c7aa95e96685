package field

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/cronce/cronce/internal/plaintext"
)

// maxValues bounds what aliases may expand to: a file of MaxFileSize has no
// more values of its own.
const maxValues = MaxFileSize / 2

// Decode reads a file into an object, and reports what is wrong with it. It returns false if
// nothing of the file could be read, so that everything would be missing.
func Decode(r *Report, data []byte, into Fielded) bool {
	r.Places[""] = Place{Line: 1, Column: 1}
	root := r.syntax(data)
	if root == nil {
		return false
	}
	newDecoder(r).value("", root, Object(into))
	return !r.seen[""]
}

// syntax returns the file's one document, or nil after a complaint.
func (r *Report) syntax(data []byte) ast.Node {
	if len(data) > MaxFileSize {
		r.AddAt("", Place{}, FileTooBig, "%s", TooBig(fmt.Sprintf("the file has more than %d bytes", MaxFileSize)))
		return nil
	}
	text := r.text(data)
	if text == "" {
		return nil
	}
	return r.parseYAML(text)
}

// TooBig says what to do about a file that is too big.
func TooBig(what string) string {
	return fmt.Sprintf("%s; the maximum is %d; if it is a registry, split it, each part with its own name", what, MaxFileSize)
}

// decoder reads values from a syntax tree, each as its Kind says. It goes on after every
// complaint, and notes where each value stands.
type decoder struct {
	*Report
	anchors map[string]ast.Node
	open    map[string]bool // anchors being expanded
	values  int
}

func newDecoder(r *Report) *decoder {
	return &decoder{Report: r, anchors: map[string]ast.Node{}, open: map[string]bool{}}
}

// value decodes one node, anchors and aliases resolved.
func (d *decoder) value(path string, n ast.Node, to Kind) {
	if d.values++; d.values > maxValues {
		d.Add("", TooMuch, "the file's aliases expand to more than %d values; write out what you need", maxValues)
		return
	}
	if _, placed := d.Places[path]; !placed || path == "" {
		d.Places[path] = place(n)
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
		d.Add(path, BadAlias, "the alias *%[2]s has no anchor &%[1]s before it", name, name)
		return nil
	case d.open[name]:
		d.Add(path, BadAlias, "the alias *%s is inside its own anchor", name)
		return nil
	}
	return target
}

func (d *decoder) inside(path, anchor string, decode func()) {
	if d.open[anchor] {
		d.Add(path, BadAlias, "the anchor &%s is inside an anchor of the same name", anchor)
		return
	}
	d.open[anchor] = true
	decode()
	delete(d.open, anchor)
}

func (d *decoder) mapping(path string, n ast.Node, decode func(name, path string, value ast.Node)) {
	for _, e := range d.entries(path, n) {
		at := Join(path, e.name)
		d.Places[at] = e.at
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

func fieldNames(rows []Row) []string {
	names := make([]string, len(rows))
	for i, f := range rows {
		names[i] = f.Name
	}
	return names
}

// Join adds a name to a path. It quotes names that a terminal might take for more than text.
func Join(path, name string) string {
	if !plaintext.VisibleASCII(name) {
		name = strconv.QuoteToASCII(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// within returns ` in jobs[2]` for messages.
func within(path string) string {
	if path == "" {
		return " in the registry"
	}
	return " in " + path
}

// place returns where a value begins; text is set where the value is written
// literally, so that its columns are the file's.
func place(n ast.Node) Place {
	tk := first(n)
	at := spotOf(tk)
	if tk == nil {
		return at
	}
	switch {
	case strings.ContainsAny(tk.Origin, "\\") || strings.Contains(strings.TrimSpace(tk.Origin), "\n"):
	case tk.Type == token.StringType:
		at.Text = at.Column
	case tk.Type == token.DoubleQuoteType, tk.Type == token.SingleQuoteType && !strings.Contains(tk.Value, "'"):
		at.Text = at.Column + 1
	}
	return at
}

// first returns the first token of a value: of a mapping, its first key.
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

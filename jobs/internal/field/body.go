package field

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// Body is any value, which becomes JSON. A text is taken for JSON as it is written, since
// that is how other schedulers take a body.
func Body(set func(json.RawMessage)) Kind { return body{set} }

type body struct{ set func(json.RawMessage) }

func (body) Schema() Schema        { return Schema{} }
func (body) check(*Report, string) {}
func (body) inherit(Kind)          {}

func (b body) decode(d *decoder, path string, n ast.Node) {
	if text, ok := textOf(n); ok && !d.ambiguous(path, n) {
		if !json.Valid([]byte(text)) {
			d.Add(path, BadBody, `the body is a string that is not JSON; write a YAML mapping, or a JSON string as '"text"'`)
			return
		}
		b.set(json.RawMessage(text))
		return
	}
	before := len(d.Problems)
	value := d.json(path, n)
	if len(d.Problems) > before {
		return
	}
	data, err := JSONText(value)
	if err != nil {
		d.Add(path, BadBody, "the body cannot be written as JSON: %v", err)
		return
	}
	b.set(data)
}

// json returns a node as a value for encoding/json.
func (d *decoder) json(path string, n ast.Node) (value any) {
	if d.values++; d.values > maxValues {
		d.Add("", TooMuch, "the file's aliases expand to more than %d values; write out what you need", maxValues)
		return nil
	}
	d.Places[path] = place(n)
	switch n := n.(type) {
	case *ast.AnchorNode:
		d.anchors[n.Name.String()] = n.Value
		d.inside(path, n.Name.String(), func() { value = d.json(path, n.Value) })
	case *ast.AliasNode:
		if target := d.alias(path, n); target != nil {
			d.inside(path, n.Value.String(), func() { value = d.json(path, target) })
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		object := map[string]any{}
		for _, e := range d.entries(path, n) {
			object[e.name] = d.json(Join(path, e.name), e.value)
		}
		return object
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			list[i] = d.json(fmt.Sprintf("%s[%d]", path, i), item)
		}
		return list
	default:
		return d.jsonScalar(path, n)
	}
	return value
}

func (d *decoder) jsonScalar(path string, n ast.Node) any {
	if d.ambiguous(path, n) {
		return nil
	}
	if text, ok := textOf(n); ok {
		return text
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		written := n.GetToken().Value
		if json.Valid([]byte(written)) {
			return json.Number(written) // keeps digits that a float64 would lose
		}
		if f, ok := n.(*ast.FloatNode); ok {
			return f.Value
		}
		return n.(*ast.IntegerNode).Value
	}
	d.Add(path, BadBody, "JSON has no %s; use a string or a number", nodeKind(n))
	return nil
}

// JSONText returns compact JSON without HTML's escapes.
func JSONText(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

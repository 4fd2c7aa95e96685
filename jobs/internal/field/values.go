package field

import (
	"github.com/goccy/go-yaml/ast"
)

// entry is one line of a mapping.
type entry struct {
	name  string
	at    Place
	value ast.Node
}

// entries returns a mapping's own, then what it merges (<<), without those that it
// has itself.
func (d *decoder) entries(path string, n ast.Node) []entry {
	pairs, ok := pairsOf(n)
	if !ok {
		d.wrongType(path, n, "a mapping")
		return nil
	}
	var own, merged []entry
	seen := map[string]int{}
	for _, pair := range pairs {
		if d.values++; d.values > maxValues {
			break
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, d.merged(path, pair.Value)...)
			continue
		}
		e, ok := d.entry(path, pair)
		if !ok {
			continue
		}
		if line, twice := seen[e.name]; twice {
			d.AddAt(Join(path, e.name)+" again", e.at, DuplicateField,
				"duplicate field %s (first defined on line %d); keep one", Quoted(e.name), line)
			continue
		}
		seen[e.name] = e.at.Line
		own = append(own, e)
	}
	for _, e := range merged {
		if _, has := seen[e.name]; !has {
			seen[e.name] = e.at.Line
			own = append(own, e)
		}
	}
	return own
}

func pairsOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func (d *decoder) entry(path string, pair *ast.MappingValueNode) (entry, bool) {
	at := spotOf(first(pair.Key))
	key, ok := pair.Key.(*ast.StringNode)
	if !ok {
		d.AddAt(Join(path, pair.Key.String()), at, WrongType, "a field name must be a string; put %s in quotes", Quoted(pair.Key.String()))
		return entry{}, false
	}
	return entry{key.Value, at, pair.Value}, true
}

// merged returns the entries of what a merge key names: an alias of a mapping, or
// a list of them, of which the earlier win.
func (d *decoder) merged(path string, n ast.Node) []entry {
	var all []entry
	switch n := n.(type) {
	case *ast.AliasNode:
		if target := d.alias(path+".<<", n); target != nil {
			d.inside(path+".<<", n.Value.String(), func() { all = d.entries(path, target) })
		}
	case *ast.SequenceNode:
		for _, item := range n.Values {
			all = append(all, d.merged(path, item)...)
		}
	default:
		all = d.entries(path, n)
	}
	return all
}

func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

func integer(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch v := i.Value.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v < 1<<31
	}
	return 0, false
}

func number(n ast.Node) (float64, bool) {
	if f, ok := n.(*ast.FloatNode); ok {
		return f.Value, true
	}
	i, ok := integer(n)
	return float64(i), ok
}

func (d *decoder) wrongType(path string, n ast.Node, want string) {
	hint := ""
	if _, scalar := n.(ast.ScalarNode); scalar && want == "a string" {
		hint = "; put it in quotes"
	}
	d.Add(path, WrongType, "%s must be %s, but is %s%s", fieldOrFile(path), want, nodeKind(n), hint)
	d.Ignore(path)
}

func fieldOrFile(path string) string {
	if path == "" {
		return "the file"
	}
	return Last(path)
}

func nodeKind(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.InfinityNode:
		return "infinity"
	case *ast.NanNode:
		return "not-a-number"
	}
	return "a string"
}

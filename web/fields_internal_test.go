package web

import (
	"fmt"
	"html/template"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/cronce/cronce/ledger"
)

// The compiler does not see the fields and methods that a template names, and a page
// that is drawn in a test may leave out the part that names a wrong one.
func TestTemplatesNameOnlyFieldsThatExist(t *testing.T) {
	data := map[string]any{
		"action": &actionView{}, "audit": auditView{}, "failure": failureView{}, "find": findView{}, "job": jobView{}, "jobs": jobsView{}, "keys": keysView{},
		"overview": overviewView{}, "pauses": pausesView{}, "processes": processesView{}, "run": runView{}, "runs": runsView{}, "target": targetView{}, "targets": targetsView{}, "template": templateView{},
	}
	for name, set := range pages() {
		if data[name] == nil {
			t.Errorf("page %s: the test does not know its data", name)
			continue
		}
		c := &checker{t: t, page: name, set: set, data: reflect.TypeOf(data[name]), seen: map[string]bool{}}
		c.template(set.Name(), reflect.TypeFor[frame]())
	}
}

// checker follows a page's templates with the type of each value; nil: not known.
type checker struct {
	t    *testing.T
	page string
	set  *template.Template
	data reflect.Type // of view.Data
	seen map[string]bool
	root reflect.Type
	vars []variable
}

type variable struct {
	name string
	is   reflect.Type
}

func (c *checker) template(name string, dot reflect.Type) {
	if key := fmt.Sprint(name, " ", dot); !c.seen[key] {
		c.seen[key] = true
		inner := *c
		inner.root, inner.vars = dot, []variable{{"$", dot}}
		inner.list(c.set.Lookup(name).Tree.Root, dot)
	}
}

func (c *checker) list(l *parse.ListNode, dot reflect.Type) {
	if l == nil {
		return
	}
	defer func(n int) { c.vars = c.vars[:n] }(len(c.vars))
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			c.pipe(n.Pipe, dot)
		case *parse.TemplateNode:
			c.template(n.Name, c.pipe(n.Pipe, dot))
		case *parse.IfNode:
			c.branch(&n.BranchNode, dot, func(reflect.Type) reflect.Type { return dot })
		case *parse.WithNode:
			c.branch(&n.BranchNode, dot, func(is reflect.Type) reflect.Type { return is })
		case *parse.RangeNode:
			c.branch(&n.BranchNode, dot, element)
		}
	}
}

func (c *checker) branch(n *parse.BranchNode, dot reflect.Type, inside func(reflect.Type) reflect.Type) {
	defer func(n int) { c.vars = c.vars[:n] }(len(c.vars))
	is := c.pipe(n.Pipe, dot)
	if n.NodeType == parse.NodeRange && len(n.Pipe.Decl) > 0 {
		c.vars[len(c.vars)-1].is = element(is)
		if len(n.Pipe.Decl) == 2 {
			c.vars[len(c.vars)-2].is = nil // an index or a key
		}
	}
	c.list(n.List, inside(is))
	c.list(n.ElseList, dot)
}

func element(is reflect.Type) reflect.Type {
	if is == nil {
		return nil
	}
	switch is.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
		return is.Elem()
	default:
		return nil
	}
}

// pipe returns the type of a pipe's value, after its declarations.
func (c *checker) pipe(p *parse.PipeNode, dot reflect.Type) (is reflect.Type) {
	if p == nil {
		return nil
	}
	for _, cmd := range p.Cmds {
		is = c.command(cmd.Args, dot)
	}
	for _, v := range p.Decl {
		c.vars = append(c.vars, variable{v.Ident[0], is})
	}
	return is
}

// command is a value, or a function and its arguments.
func (c *checker) command(args []parse.Node, dot reflect.Type) reflect.Type {
	types := make([]reflect.Type, len(args))
	for n, arg := range args {
		types[n] = c.value(arg, dot)
	}
	switch f, _ := args[0].(*parse.IdentifierNode); {
	case f != nil && f.Ident == "index":
		return element(types[1])
	case f != nil && f.Ident == "dict":
		return structOf(args[1:], types[1:])
	default:
		return types[0]
	}
}

// structOf is a type with the names and values of a dict as its fields.
func structOf(args []parse.Node, types []reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for n := 0; n < len(args); n += 2 {
		is := types[n+1]
		if is == nil {
			is = reflect.TypeFor[any]()
		}
		fields = append(fields, reflect.StructField{Name: args[n].(*parse.StringNode).Text, Type: is})
	}
	return reflect.StructOf(fields)
}

func (c *checker) value(n parse.Node, dot reflect.Type) reflect.Type {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return c.fields(dot, n.Ident, n)
	case *parse.ChainNode:
		return c.fields(c.value(n.Node, dot), n.Field, n)
	case *parse.PipeNode:
		return c.pipe(n, dot)
	case *parse.VariableNode:
		for i := len(c.vars) - 1; i >= 0; i-- {
			if c.vars[i].name == n.Ident[0] {
				return c.fields(c.vars[i].is, n.Ident[1:], n)
			}
		}
	case *parse.IdentifierNode:
		if f, ours := functions[n.Ident]; ours {
			return reflect.TypeOf(f).Out(0)
		}
	}
	return nil
}

func (c *checker) fields(is reflect.Type, names []string, at parse.Node) reflect.Type {
	for _, name := range names {
		if is == nil || is.Kind() == reflect.Interface || is.Kind() == reflect.Map {
			return nil
		}
		if m, found := reflect.PointerTo(is).MethodByName(name); found {
			is = m.Type.Out(0)
			continue
		}
		if m, found := is.MethodByName(name); found {
			is = m.Type.Out(0)
			continue
		}
		s := is
		if s.Kind() == reflect.Pointer {
			s = s.Elem()
		}
		f, found := reflect.StructField{}, false
		if s.Kind() == reflect.Struct {
			f, found = s.FieldByName(name)
		}
		if !found && is.Name() == "" && is.Kind() == reflect.Struct {
			return nil // a dict without it
		}
		if !found {
			c.t.Errorf("page %s: %s: %s has no field or method %s", c.page, strings.TrimSpace(at.String()), is, name)
			return nil
		}
		is = f.Type
		if s == reflect.TypeFor[view]() && name == "Data" || s == reflect.TypeFor[frame]() && name == "Data" {
			is = c.data
		}
	}
	return is
}

func TestEachStateHasAShapeAndAColour(t *testing.T) {
	css, err := assetFiles.ReadFile("assets/app.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range ledger.States {
		if shapes[kind(s)] == nil || !regexp.MustCompile(`\.`+string(s)+`[ ,][^}]*\{ color:`).Match(css) {
			t.Errorf("the dashboard draws no %s run: add it to shapes in cells.go and to app.css", s)
		}
	}
}

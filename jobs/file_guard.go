package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep lists and mappings may nest: a registry needs six
// levels, a body a few more, and the parser's stack must not be the limit.
const maxDepth = 64

// text is the file as YAML text, or "" after a complaint. Characters that YAML
// forbids are refused here, because parsers differ in what they make of them.
func (r *report) text(data []byte) string {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.addAt("", spot{1, 1, 0}, CodeEncoding, "the file is UTF-16; save it as UTF-8")
		return ""
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if what := forbidden(c, size); what != "" {
			r.addAt("", spot{line, column, 0}, CodeEncoding, "%s is not allowed in YAML; remove it, or save the file as UTF-8", what)
			return ""
		}
		i, column = i+size, column+1
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		r.empty()
		return ""
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

func (r *report) empty() {
	r.addAt("", spot{1, 1, 0}, CodeFileEmpty, "the registry file is empty; it needs at least `name: acme-platform` and `jobs:`")
}

func forbidden(c rune, size int) string {
	switch {
	case c == utf8.RuneError && size == 1:
		return "a byte that is not UTF-8"
	case c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0x7f, 0x80 <= c && c < 0xa0 && c != 0x85:
		return fmt.Sprintf("the control character U+%04X", c)
	}
	return ""
}

// parseYAML is the root of the one document, or nil after a complaint.
func (r *report) parseYAML(text string) (root ast.Node) {
	defer func() {
		// The parser has paths on which malformed input makes it panic; for
		// the one who wrote the file that is a syntax error like any other.
		if p := recover(); p != nil {
			r.addAt("", spot{1, 1, 0}, CodeSyntax, "the file is not YAML, and too broken to say where; check its quotes, brackets and indentation")
			root = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if deep := tooDeep(tokens); deep != nil {
		r.addAt("", spotOf(deep), CodeTooDeep, "lists and mappings nest deeper than %d levels here; flatten them", maxDepth)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntaxError(err)
		return nil
	}
	return r.oneDocument(file)
}

func (r *report) syntaxError(err error) {
	at, message := spot{1, 1, 0}, err.Error()
	var bad yaml.Error
	if errors.As(err, &bad) {
		message = bad.GetMessage()
		if tk := bad.GetToken(); tk != nil {
			at = spotOf(tk)
		}
	}
	if strings.Contains(message, `'\t'`) {
		message = "a tab in the indentation; YAML indents with spaces"
	}
	r.addAt("", at, CodeSyntax, "the file is not YAML: %s", message)
}

func (r *report) oneDocument(file *ast.File) ast.Node {
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if root != nil {
			r.addAt("", spotOf(first(doc.Body)), CodeSeveralDocuments, "a second YAML document begins here; one file is one registry, so remove the --- or split the file")
			return nil
		}
		root = doc.Body
	}
	if root == nil {
		r.empty()
	}
	return root
}

// tooDeep is the first token that opens a level beyond maxDepth, or nil. Flow
// levels are counted by their brackets. Block levels are the columns, each to
// the right of the last, at which an entry or a key begins.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, block := 0, []int{}
	for _, tk := range tokens {
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			column := tk.Position.Column
			if tk.Type == token.MappingValueType && tk.Prev != nil && tk.Prev.Position != nil {
				column = tk.Prev.Position.Column
			}
			for len(block) > 0 && block[len(block)-1] >= column {
				block = block[:len(block)-1]
			}
			block = append(block, column)
		}
		if flow > maxDepth || flow == 0 && len(block) > maxDepth {
			return tk
		}
	}
	return nil
}

func spotOf(tk *token.Token) spot {
	if tk == nil || tk.Position == nil {
		return spot{1, 1, 0}
	}
	return spot{line: tk.Position.Line, column: tk.Position.Column}
}

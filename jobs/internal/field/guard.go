package field

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

// text returns the file as YAML text, or "" after a complaint. Characters that YAML
// forbids are refused here, because parsers differ in what they make of them.
func (r *Report) text(data []byte) string {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.AddAt("", Place{1, 1, 0}, Encoding, "the file is UTF-16; save it as UTF-8")
		return ""
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if what := forbidden(c, size); what != "" {
			r.AddAt("", Place{line, column, 0}, Encoding, "%s is not allowed in YAML; remove it, or save the file as UTF-8", what)
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

func (r *Report) empty() {
	r.AddAt("", Place{1, 1, 0}, FileEmpty, "the registry file is empty; it needs at least `name: acme-platform` and `jobs:`")
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

// parseYAML returns the root of the one document, or nil after a complaint.
func (r *Report) parseYAML(text string) (root ast.Node) {
	defer func() {
		// The parser has paths on which malformed input makes it panic; for
		// the one who wrote the file that is a syntax error like any other.
		if p := recover(); p != nil {
			r.AddAt("", Place{1, 1, 0}, Syntax, "the file is not YAML, and too broken to say where; check its quotes, brackets and indentation")
			root = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if tk, what := new(bounds).exceeded(tokens); tk != nil {
		r.AddAt("", spotOf(tk), TooMuch, "%s", what)
		return nil
	}
	if tag := find(tokens, token.TagType); tag != nil {
		r.AddAt("", spotOf(tag), WrongType, "YAML tags such as %s are not used here; remove it", Quoted(tag.Value))
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntaxError(text, err)
		return nil
	}
	return r.oneDocument(file)
}

func (r *Report) syntaxError(text string, err error) {
	at, message := Place{1, 1, 0}, err.Error()
	var bad yaml.Error
	if errors.As(err, &bad) {
		message = bad.GetMessage()
		if tk := bad.GetToken(); tk != nil {
			at = spotOf(tk)
		}
	}
	if strings.Contains(message, "'\t'") {
		message = "a tab in the indentation; YAML indents with spaces"
	}
	if lines := strings.Split(text, "\n"); at.Line <= len(lines) {
		if why, column := unQuoted(lines[at.Line-1]); why != "" {
			r.AddAt("", Place{at.Line, column, 0}, Syntax, "%s", why)
			return
		}
	}
	r.AddAt("", at, Syntax, "the file is not YAML: %s", message)
}

func (r *Report) oneDocument(file *ast.File) ast.Node {
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if root != nil {
			r.AddAt("", spotOf(first(doc.Body)), SeveralDocuments,
				"a second YAML document begins here; one file is one registry, so remove the --- or split the file")
			return nil
		}
		root = doc.Body
	}
	if root == nil {
		r.empty()
	}
	return root
}

// Bounds of what the parser is given: beyond its stack's depth, its time
// grows with the square of these. No registry comes near them.
const (
	maxDepth   = 64   // lists and mappings within each other; a registry needs six
	maxEntries = 5000 // of one mapping
	maxAnchors = 1000 // with their aliases
)

// bounds walks the tokens before they are parsed. Levels in brackets are
// counted by these; the others are the columns, each to the right of the last,
// at which an entry or a key begins.
type bounds struct {
	levels  []level
	anchors int
}

type level struct {
	column  int // 0: within brackets
	entries int // of a mapping
}

// exceeded names the first token that goes too far, and how; nil when none
// does.
func (b *bounds) exceeded(tokens token.Tokens) (*token.Token, string) {
	for _, tk := range tokens {
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			b.levels = append(b.levels, level{})
		case token.MappingEndType, token.SequenceEndType:
			b.leave()
		case token.SequenceEntryType, token.MappingKeyType:
			b.enter(tk.Position.Column)
		case token.MappingValueType:
			b.enter(columnOf(tk))
			b.levels[len(b.levels)-1].entries++
		case token.AnchorType, token.AliasType:
			b.anchors++
		}
		if what := b.what(); what != "" {
			return tk, what
		}
	}
	return nil, ""
}

func (b *bounds) what() string {
	switch n := len(b.levels); {
	case n > maxDepth:
		return fmt.Sprintf("lists and mappings nest deeper than %d levels here; flatten them", maxDepth)
	case n > 0 && b.levels[n-1].entries > maxEntries:
		return fmt.Sprintf("a mapping has more than %d entries here; split the registry", maxEntries)
	case b.anchors > maxAnchors:
		return fmt.Sprintf("the file has more than %d anchors and aliases; write out what you need", maxAnchors)
	}
	return ""
}

// leave takes the innermost brackets out, with what is open in them.
func (b *bounds) leave() {
	for n := len(b.levels); n > 0; n = len(b.levels) {
		inner := b.levels[n-1]
		b.levels = b.levels[:n-1]
		if inner.column == 0 {
			return
		}
	}
}

// enter opens the block level at a column, or goes back to it; in brackets
// columns mean nothing.
func (b *bounds) enter(column int) {
	n := len(b.levels)
	if n > 0 && b.levels[n-1].column == 0 {
		return
	}
	for n > 0 && b.levels[n-1].column > column {
		n--
	}
	b.levels = b.levels[:n]
	if n == 0 || b.levels[n-1].column < column {
		b.levels = append(b.levels, level{column: column})
	}
}

// columnOf returns the column of the key before a colon.
func columnOf(tk *token.Token) int {
	if tk.Prev != nil && tk.Prev.Position != nil {
		return tk.Prev.Position.Column
	}
	return tk.Position.Column
}

func find(tokens token.Tokens, kind token.Type) *token.Token {
	for _, tk := range tokens {
		if tk.Type == kind {
			return tk
		}
	}
	return nil
}

func spotOf(tk *token.Token) Place {
	if tk == nil || tk.Position == nil {
		return Place{1, 1, 0}
	}
	return Place{Line: tk.Position.Line, Column: tk.Position.Column}
}

package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/cronce/cronce/internal/suggest"
)

// eachDocument reads the YAML documents of files. Aliases are refused: a few lines of them
// can stand for gigabytes. without says how to write a file without them.
func eachDocument(files []File, without string, read func(f File, line int, body ast.Node) error) error {
	for _, f := range files {
		if err := documentsOf(f, without, read); err != nil {
			return err
		}
	}
	return nil
}

// documentsOf reads the documents of one file. It looks at the tokens first: what is nested deeply would
// exhaust the parser.
func documentsOf(f File, without string, read func(f File, line int, body ast.Node) error) (err error) {
	defer func() { // the YAML parser has paths on which malformed input makes it panic
		if recover() != nil {
			err = fmt.Errorf("%s is not YAML", f.Name)
		}
	}()
	text := strings.ReplaceAll(string(f.Data), "\r\n", "\n")
	tokens := lexer.Tokenize(text)
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.AliasType:
			return unreadable(f.Name, text, t.Position.Line, "YAML aliases are not read; "+without)
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		if depth > 100 || t.Position != nil && t.Position.IndentNum > 200 {
			return fmt.Errorf("%s:%d: nested too deeply", f.Name, t.Position.Line)
		}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		line := 0
		var bad yaml.Error
		if errors.As(err, &bad) && bad.GetToken() != nil {
			line = bad.GetToken().Position.Line
		}
		return unreadable(f.Name, text, line, "not YAML; a template must be rendered first, e.g. with helm template")
	}
	for _, document := range file.Docs {
		if document.Body == nil || document.Body.Type() == ast.NullType || document.Body.Type() == ast.CommentType {
			continue
		}
		if err := read(f, document.Body.GetToken().Position.Line, document.Body); err != nil {
			return err
		}
	}
	return nil
}

// unreadable says why a file cannot be read: the line has a schedule that lacks its quotes,
// or something else is wrong.
func unreadable(file, text string, line int, why string) error {
	if lines := strings.Split(text, "\n"); 0 < line && line <= len(lines) {
		if message, column := suggest.ScheduleQuotes(lines[line-1]); message != "" {
			return fmt.Errorf("%s:%d:%d: %s", file, line, column, message)
		}
	}
	return fmt.Errorf("%s:%d: %s", file, line, why)
}

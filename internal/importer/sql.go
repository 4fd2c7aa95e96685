package importer

import (
	"encoding/json"
	"slices"
	"strings"
)

// sqlToken is a token of PostgreSQL's SQL.
type sqlToken struct {
	kind sqlKind
	text string // of a name in lower case; of a text without its quotes; else as it is
	at   int    // offset of the token, or of a dollar-quoted text
}

type sqlKind byte

const (
	sqlName   sqlKind = 'n'
	sqlText   sqlKind = 't'
	sqlDollar sqlKind = '$' // a text that may be code
	sqlNumber sqlKind = '0'
	sqlSign   sqlKind = '+'
	sqlPsql   sqlKind = '\\' // a command of psql, without its arguments
)

func (t sqlToken) is(sign string) bool { return t.kind == sqlSign && t.text == sign }
func (t sqlToken) named(n string) bool { return t.kind == sqlName && t.text == n }
func (t sqlToken) isText() bool        { return t.kind == sqlText || t.kind == sqlDollar }
func (t sqlToken) constant() (any, bool) { // of JSON
	switch {
	case t.isText():
		return t.text, true
	case t.kind == sqlNumber:
		return json.Number(t.text), json.Valid([]byte(t.text))
	case t.named("true"), t.named("false"):
		return t.text == "true", true
	}
	return nil, t.named("null")
}

// sqlTokens splits a text without comments. What is not closed ends with the text.
func sqlTokens(text string) (tokens []sqlToken) {
	for at := 0; at < len(text); {
		t, size := sqlTokenAt(text[at:])
		if t.kind != 0 {
			if t.kind == sqlDollar {
				t.at = strings.IndexByte(text[at+1:], '$') + 2
			}
			t.at += at
			tokens = append(tokens, t)
		}
		at += size
	}
	return tokens
}

// sqlTokenAt returns the first token of a text, or none for blanks and comments, and its size.
func sqlTokenAt(text string) (sqlToken, int) {
	c := text[0]
	switch {
	case strings.HasPrefix(text, "--"):
		return sqlToken{}, sizeTo(text, "\n")
	case strings.HasPrefix(text, "/*"):
		return sqlToken{}, sizeTo(text, "*/")
	case c == '\\' && !strings.HasPrefix(text, `\;`):
		size := min(sizeTo(text, "\n"), 1+sizeTo(text[1:], `\\`))
		command, _, _ := strings.Cut(strings.TrimSpace(text[:size]), " ")
		return sqlToken{kind: sqlPsql, text: command}, size
	case c == '\'':
		body, size := sqlQuoted(text, false)
		return sqlToken{kind: sqlText, text: body}, size
	case (c == 'E' || c == 'e') && strings.HasPrefix(text[1:], "'"):
		body, size := sqlQuoted(text[1:], true)
		return sqlToken{kind: sqlText, text: body}, size + 1
	case c == '"':
		size := 1 + sizeTo(text[1:], `"`)
		return sqlToken{kind: sqlName, text: strings.Trim(text[:size], `"`)}, size
	case c == '$':
		if end := strings.IndexByte(text[1:], '$') + 2; end > 1 && (end == 2 || isName(text[1:end-1])) {
			tag := text[:end]
			size := end + sizeTo(text[end:], tag)
			return sqlToken{kind: sqlDollar, text: strings.TrimSuffix(text[end:size], tag)}, size
		}
	case c >= '0' && c <= '9':
		size := len(text) - len(strings.TrimLeft(text, "0123456789."))
		return sqlToken{kind: sqlNumber, text: text[:size]}, size
	case isName(text[:1]):
		size := 1
		for size < len(text) && isName(text[:size+1]) {
			size++
		}
		return sqlToken{kind: sqlName, text: strings.ToLower(text[:size])}, size
	case strings.ContainsRune(" \t\r\n", rune(c)):
		return sqlToken{}, 1
	}
	for _, sign := range []string{"||", "::", ":=", "=>"} {
		if strings.HasPrefix(text, sign) {
			return sqlToken{kind: sqlSign, text: sign}, len(sign)
		}
	}
	return sqlToken{kind: sqlSign, text: text[:1]}, 1
}

// sizeTo returns the size of a text with its end, or of all of it.
func sizeTo(text, end string) int {
	if at := strings.Index(text, end); at >= 0 {
		return at + len(end)
	}
	return len(text)
}

// sqlQuoted returns the text within single quotes, and its size with them.
func sqlQuoted(text string, escapes bool) (string, int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteString(strings.NewReplacer("n", "\n", "t", "\t", "r", "\r").Replace(text[i : i+1]))
		case text[i] != '\'':
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '\'':
			i++
			b.WriteByte('\'')
		default:
			return b.String(), i + 1
		}
	}
	return b.String(), len(text)
}

// sqlSplit splits tokens at a sign that is in no parentheses.
func sqlSplit(tokens []sqlToken, sign string) [][]sqlToken {
	var parts [][]sqlToken
	depth, from := 0, 0
	for i, t := range tokens {
		switch {
		case t.is("(") || t.is("["):
			depth++
		case t.is(")") || t.is("]"):
			depth--
		case depth == 0 && t.is(sign):
			parts, from = append(parts, tokens[from:i]), i+1
		}
	}
	return append(parts, tokens[from:])
}

// sqlNested reports whether tokens are nested deeper than people write them.
func sqlNested(tokens []sqlToken) bool {
	depth := 0
	return slices.ContainsFunc(tokens, func(t sqlToken) bool {
		if t.is("(") {
			depth++
		} else if t.is(")") {
			depth--
		}
		return depth > 50
	})
}

// sqlInner returns the tokens inside the parentheses at the beginning, and those after them.
func sqlInner(tokens []sqlToken) (inner, rest []sqlToken, ok bool) {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if depth == 0 {
			return tokens[min(1, i):i], tokens[i+1:], i > 0
		}
	}
	return nil, nil, false
}

// sqlCall takes a call of a function apart: tokens that are name(...) and nothing else.
func sqlCall(tokens []sqlToken) (name string, args []sqlToken, ok bool) {
	n := 0
	for n < len(tokens) && (tokens[n].kind == sqlName || tokens[n].is(".")) {
		name += tokens[n].text
		n++
	}
	args, rest, ok := sqlInner(tokens[n:])
	return name, args, ok && n > 0 && len(rest) == 0
}

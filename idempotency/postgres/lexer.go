package postgres

import "strings"

// lexer splits SQL as the server does: a semicolon in a literal, a quoted name or a comment
// ends no statement.
type lexer struct {
	sql     string
	escapes bool // in every literal, as with standard_conforming_strings off
}

// next cuts the first statement off.
func (l *lexer) next() (statement string, more bool) {
	if strings.IndexByte(l.sql, ';') >= 0 {
		escapes := l.escapes
		for i := 0; i < len(l.sql); {
			if l.sql[i] == ';' {
				statement, l.sql = l.sql[:i], l.sql[i+1:]
				return statement, true
			}
			n, isLiteral := token(l.sql[i:], escapes)
			switch word := l.sql[i : i+n]; {
			case (word == "e" || word == "E") && strings.HasPrefix(l.sql[i+n:], "'"):
				escapes = true
			case !isLiteral && blank(word) == 0: // else the literal may go on in the next line
				escapes = l.escapes
			}
			i += n
		}
	}
	statement, l.sql = l.sql, ""
	return statement, false
}

// token is the length of the first token of SQL, and whether it is a literal in quotes.
func token(sql string, escapes bool) (n int, isLiteral bool) {
	switch c := sql[0]; {
	case c == '\'':
		return quoted(sql, escapes), true
	case c == '"':
		return quoted(sql, false), false
	case c == '$':
		return dollarQuoted(sql), false
	case isLetter(c):
		for n = 1; n < len(sql) && (isLetter(sql[n]) || sql[n] == '$' || '0' <= sql[n] && sql[n] <= '9'); n++ {
		}
		return n, false
	}
	return max(1, blank(sql)), false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// quoted is the length of a text between quotes. A doubled quote in it is two texts.
func quoted(sql string, escapes bool) int {
	for n := 1; n < len(sql); n++ {
		switch {
		case escapes && sql[n] == '\\':
			n++
		case sql[n] == sql[0]:
			return n + 1
		}
	}
	return len(sql)
}

// dollarQuoted is the length of a literal such as $tag$text$tag$, or of the dollar alone.
func dollarQuoted(sql string) int {
	for n := 1; n < len(sql); n++ {
		switch c := sql[n]; {
		case c == '$':
			if end := strings.Index(sql[n+1:], sql[:n+1]); end >= 0 {
				return n + 1 + end + n + 1
			}
			return len(sql)
		case !isLetter(c) && (n == 1 || c < '0' || c > '9'):
			return 1
		}
	}
	return 1
}

// firstWord is the first word of a statement, and the rest.
func firstWord(sql string) (word, rest string) {
	for sql != "" && blank(sql) > 0 {
		sql = sql[blank(sql):]
	}
	end := 0
	for end < len(sql) && isLetter(sql[end]) {
		end++
	}
	return sql[:end], sql[end:]
}

// blank is the length of the blank or the comment, which can be nested, with which SQL begins.
func blank(sql string) int {
	switch {
	case strings.IndexByte(" \t\n\v\f\r", sql[0]) >= 0:
		return 1
	case strings.HasPrefix(sql, "--"):
		if end := strings.IndexAny(sql, "\n\r"); end >= 0 {
			return end
		}
		return len(sql)
	case !strings.HasPrefix(sql, "/*"):
		return 0
	}
	depth := 0
	for n := 0; n < len(sql); n++ {
		switch {
		case strings.HasPrefix(sql[n:], "/*"):
			depth, n = depth+1, n+1
		case strings.HasPrefix(sql[n:], "*/"):
			if depth, n = depth-1, n+1; depth == 0 {
				return n + 1
			}
		}
	}
	return len(sql)
}

package importer

import (
	"errors"
	"strings"
)

// command is a simple command of a shell.
type command struct {
	words     []word
	redirects bool // output goes to files
	fallback  bool // followed by || true or the like
}

// parseShell reads a line that runs one simple command. What it cannot read for
// certain is an error; the error does not repeat the line. A parser of the whole syntax,
// such as mvdan.cc/sh, would leave as much to do: its nodes must be translated to words or
// refused each with a reason.
func parseShell(line string) (command, error) {
	s := &shell{rest: line}
	var c command
	ended := false // by the end of a line, or a semicolon
	for {
		s.skipBlanks()
		switch {
		case s.rest == "":
			return c, nil
		case s.rest[0] == '#':
			_, after, _ := strings.Cut(s.rest, "\n")
			s.rest = "\n" + after
		case s.rest[0] == '\n' || s.rest[0] == ';' && len(c.words) > 0:
			s.rest = s.rest[1:]
			ended = ended || len(c.words) > 0
		case ended:
			return c, errSeveral
		case s.fallback():
			c.fallback = true
			return c, nil
		case s.redirect():
			c.redirects = true
			if s.skipBlanks(); s.rest != "" && s.rest[0] != '&' {
				if _, err := s.word(); err != nil {
					return c, err
				}
				continue
			}
			s.rest = strings.TrimLeft(strings.TrimPrefix(s.rest, "&"), "0123456789-")
		case strings.ContainsRune("|&;()<", rune(s.rest[0])):
			return c, errSeveral
		default:
			w, err := s.word()
			if err != nil {
				return c, err
			}
			c.words = append(c.words, w)
		}
	}
}

var errSeveral = errors.New("the command line has several commands or reads a file; cronce makes one HTTP call, so give each call a job")

type shell struct{ rest string }

// skipBlanks skips blanks and the ends of lines that the next one continues.
func (s *shell) skipBlanks() {
	for before := ""; before != s.rest; {
		before = s.rest
		s.rest = strings.TrimPrefix(strings.TrimLeft(s.rest, " \t\r"), "\\\n")
	}
}

// fallback skips an end that only hides a failure.
func (s *shell) fallback() bool {
	after, is := strings.CutPrefix(s.rest, "||")
	if !is {
		return false
	}
	switch strings.TrimSuffix(strings.TrimSpace(after), ";") {
	case "true", ":", "exit 0", "exit 1", "/bin/true":
		return true
	}
	return false
}

// redirect skips the operator of a redirection of output.
func (s *shell) redirect() bool {
	for _, operator := range []string{"&>>", "&>", "1>>", "2>>", "1>", "2>", ">>", ">|", ">"} {
		if after, is := strings.CutPrefix(s.rest, operator); is {
			s.rest = after
			return true
		}
	}
	return false
}

var errSubstitution = errors.New("the command line runs another command with $(...) or backquotes; cronce sends a fixed call")

var errOpenQuote = errors.New("unterminated quote in the command line; close it")

// word reads one word.
func (s *shell) word() (word, error) {
	w := &wordBuilder{}
	quoted := false // within double quotes
	for s.rest != "" {
		c := s.rest[0]
		size, err := 1, error(nil)
		switch {
		case c == '`':
			return nil, errSubstitution
		case c == '\\' && len(s.rest) > 1:
			size = w.escape(s.rest, quoted)
		case c == '$' && len(s.rest) > 1:
			size, err = w.dollar(s.rest)
		case c == '"':
			quoted = !quoted
		case quoted:
			w.text.WriteByte(c)
		case c == '\'':
			size, err = w.quote(s.rest)
		case strings.IndexByte(" \t\n\r|&;()<>", c) >= 0:
			return w.word(), nil
		case c == '{' || c == '[' && w.text.Len() == 0:
			return nil, errors.New("the command line has a pattern that the shell or curl expands; put it in quotes, or write one call")
		default:
			w.text.WriteByte(c)
		}
		if err != nil {
			return nil, err
		}
		s.rest = s.rest[size:]
	}
	if quoted {
		return nil, errOpenQuote
	}
	return w.word(), nil
}

// wordBuilder collects the parts of a word. Its methods read what is at the beginning of a text, and return
// its size.
type wordBuilder struct {
	parts word
	text  strings.Builder // not yet a part
}

// word returns the word.
func (w *wordBuilder) word() word {
	w.parts = append(w.parts, textPart(w.text.String())...)
	w.text.Reset()
	return w.parts
}

// escape reads a backslash and the character behind it. In double quotes most backslashes are text.
func (w *wordBuilder) escape(text string, quoted bool) int {
	if quoted && !strings.ContainsRune("$`\"\\\n", rune(text[1])) {
		w.text.WriteByte('\\')
	}
	if text[1] != '\n' {
		w.text.WriteByte(text[1])
	}
	return 2
}

// dollar reads a variable, or a dollar sign.
func (w *wordBuilder) dollar(text string) (int, error) {
	name, size, err := variableAt(text)
	if size == 0 && err == nil {
		w.text.WriteByte('$')
		return 1, nil
	}
	w.parts = append(w.word(), part{name, true})
	return size, err
}

// quote reads a text in single quotes.
func (w *wordBuilder) quote(text string) (int, error) {
	end := strings.IndexByte(text[1:], '\'')
	if end < 0 {
		return 0, errOpenQuote
	}
	w.text.WriteString(text[1 : 1+end])
	return end + 2, nil
}

// variableAt reads $NAME or ${NAME} at the beginning of a text. Size 0 is a plain $.
func variableAt(text string) (name string, size int, err error) {
	switch {
	case text[1] == '(':
		return "", 0, errSubstitution
	case text[1] == '{':
		end := strings.IndexByte(text, '}')
		if end < 0 || !isName(text[2:end]) {
			return "", 0, errors.New("the command line has a shell expansion ${...} that is more than a variable; write the value")
		}
		return text[2:end], end + 1, nil
	}
	end := 1
	for end < len(text) && isName(text[1:end+1]) {
		end++
	}
	if end == 1 && strings.IndexByte("0123456789@*#?!$-", text[1]) >= 0 {
		return "", 0, errors.New("the command line has a variable of the shell itself, such as $$ or $1; write the value")
	}
	if end == 1 {
		return "", 0, nil
	}
	return text[1:end], end, nil
}

// isName reports whether a text is the name of a variable.
func isName(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

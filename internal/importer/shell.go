package importer

import (
	"errors"
	"fmt"
	"strings"
)

// part is a piece of a word: text, or the name of a variable.
type part struct {
	text     string
	variable bool
}

// word is one word of a command, or one value of a manifest.
type word []part

func literal(text string) word { return word{{text: text}} }

// lookup is the value of a variable. That of a secret is not known, so that no registry has it.
func lookup(env map[string]string, name string) (string, bool) {
	value, known := env[name]
	return value, known && !secretName.MatchString(name) && !looksSecret(value)
}

// literal is the word's text with the values that env has.
func (w word) literal(env map[string]string) (string, bool) {
	var b strings.Builder
	for _, p := range w {
		text := p.text
		if p.variable {
			value, known := lookup(env, p.text)
			if !known {
				return "", false
			}
			text = value
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// expand is the word's text with the values that env has, and the name of the unknown
// variable that it begins with. Any other unknown variable stands as a NUL.
func (w word) expand(env map[string]string) (text, first string) {
	for i, p := range w {
		value, known := lookup(env, p.text)
		switch {
		case !p.variable:
			text += p.text
		case known:
			text += value
		case i == 0:
			first = p.text
		default:
			text += "\x00"
		}
	}
	return text, first
}

// variable is the name of the variable that the word consists of, or "".
func (w word) variable() string {
	if len(w) == 1 && w[0].variable {
		return w[0].text
	}
	return ""
}

// key is equal for equal words.
func (w word) key() string {
	var b strings.Builder
	for _, p := range w {
		fmt.Fprintf(&b, "%t%q", p.variable, p.text)
	}
	return b.String()
}

// cut splits a word at the first separator in its text.
func (w word) cut(separator byte) (before, after word, found bool) {
	for i, p := range w {
		if at := strings.IndexByte(p.text, separator); at >= 0 && !p.variable {
			before = append(append(word{}, w[:i]...), textPart(p.text[:at])...)
			return before, append(textPart(p.text[at+1:]), w[i+1:]...), true
		}
	}
	return w, nil, false
}

// cutPrefix is the word without its prefix, which may be in any case; nil if it does
// not begin with it.
func (w word) cutPrefix(prefix string) word {
	if len(w) == 0 || w[0].variable || len(w[0].text) < len(prefix) || !strings.EqualFold(w[0].text[:len(prefix)], prefix) {
		return nil
	}
	return append(textPart(strings.TrimLeft(w[0].text[len(prefix):], " ")), w[1:]...)
}

// trimLeft is the word without blanks in front of it.
func (w word) trimLeft() word {
	if len(w) == 0 || w[0].variable {
		return w
	}
	return append(textPart(strings.TrimLeft(w[0].text, " \t")), w[1:]...)
}

func textPart(text string) word {
	if text == "" {
		return nil
	}
	return word{{text: text}}
}

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

// word reads one word.
func (s *shell) word() (word, error) {
	var w word
	var text strings.Builder
	push := func(p part) {
		if text.Len() > 0 {
			w = append(w, part{text: text.String()})
			text.Reset()
		}
		if p.variable {
			w = append(w, p)
		}
	}
	quoted := false // within double quotes
	for s.rest != "" {
		c := s.rest[0]
		switch {
		case c == '`':
			return nil, errSubstitution
		case c == '\\' && len(s.rest) > 1:
			if quoted && !strings.ContainsRune("$`\"\\\n", rune(s.rest[1])) {
				text.WriteByte('\\')
			}
			if s.rest[1] != '\n' {
				text.WriteByte(s.rest[1])
			}
			s.rest = s.rest[2:]
			continue
		case c == '$' && len(s.rest) > 1:
			name, size, err := variableAt(s.rest)
			if err != nil {
				return nil, err
			}
			if size > 0 {
				push(part{name, true})
				s.rest = s.rest[size:]
				continue
			}
			text.WriteByte(c)
		case c == '"':
			quoted = !quoted
		case quoted:
			text.WriteByte(c)
		case c == '\'':
			end := strings.IndexByte(s.rest[1:], '\'')
			if end < 0 {
				return nil, errors.New("the command line has a quote without its end")
			}
			text.WriteString(s.rest[1 : 1+end])
			s.rest = s.rest[1+end:]
		case strings.IndexByte(" \t\n\r|&;()<>", c) >= 0:
			push(part{})
			return w, nil
		case c == '{' || c == '[' && text.Len() == 0:
			return nil, errors.New("the command line has a pattern that the shell or curl expands; put it in quotes, or write one call")
		default:
			text.WriteByte(c)
		}
		s.rest = s.rest[1:]
	}
	if quoted {
		return nil, errors.New("the command line has a quote without its end")
	}
	push(part{})
	return w, nil
}

// variableAt reads $NAME or ${NAME} at the beginning of a text. Size 0 is a plain $.
func variableAt(text string) (name string, size int, err error) {
	switch {
	case text[1] == '(':
		return "", 0, errSubstitution
	case text[1] == '{':
		end := strings.IndexByte(text, '}')
		if end < 0 || !isName(text[2:end]) {
			return "", 0, errors.New("the command line has a shell expansion ${...} that is more than a variable")
		}
		return text[2:end], end + 1, nil
	}
	end := 1
	for end < len(text) && isName(text[1:end+1]) {
		end++
	}
	if end == 1 && strings.IndexByte("0123456789@*#?!$-", text[1]) >= 0 {
		return "", 0, errors.New("the command line has a variable of the shell itself, such as $$ or $1")
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

package importer

import (
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

// lookup returns the value of a variable. That of a secret is not known, so that no registry has it.
func lookup(env map[string]string, name string) (string, bool) {
	value, known := env[name]
	return value, known && !secretName.MatchString(name) && !looksSecret(value)
}

// literal returns the word's text with the values that env has.
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

// expand returns the word's text with the values that env has, and the name of the unknown
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

// variable returns the name of the variable that the word consists of, or "".
func (w word) variable() string {
	if len(w) == 1 && w[0].variable {
		return w[0].text
	}
	return ""
}

// key returns a text that is equal for equal words.
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

// cutPrefix returns the word without its prefix, which may be in any case; nil if it does
// not begin with it.
func (w word) cutPrefix(prefix string) word {
	if len(w) == 0 || w[0].variable || len(w[0].text) < len(prefix) || !strings.EqualFold(w[0].text[:len(prefix)], prefix) {
		return nil
	}
	return append(textPart(strings.TrimLeft(w[0].text[len(prefix):], " ")), w[1:]...)
}

// trimLeft returns the word without blanks in front of it.
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

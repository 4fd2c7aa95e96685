package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// canonicalJSON returns the RFC 8785 form of a JSON text. ok is false when the
// text is not JSON, or when that form would equate texts that a reader may tell
// apart: a name that occurs twice in an object, a number that does not survive
// as a float64, a lone surrogate, bytes that are not UTF-8.
func canonicalJSON(text []byte) (canonical []byte, ok bool) {
	canonical, exact, err := canonicalize(text)
	return canonical, err == nil && exact
}

const maxDepth = 500

var (
	errDepth     = errors.New("nested too deeply")
	errDuplicate = errors.New("a name occurs twice in an object")
	errSyntax    = errors.New("not JSON")
	errUnicode   = errors.New("not Unicode text")
)

// canonicalize writes the RFC 8785 form. exact: every number of the text has
// the same decimal value in it.
func canonicalize(text []byte) (canonical []byte, exact bool, err error) {
	if !utf8.Valid(text) || hasLoneSurrogate(text) {
		return nil, false, errUnicode
	}
	if !json.Valid(text) {
		return nil, false, errSyntax
	}
	c := canonicalizer{text: text, exact: true}
	canonical, err = c.value(make([]byte, 0, len(text)), 0)
	if err != nil {
		return nil, false, err
	}
	return canonical, c.exact, nil
}

// canonicalizer walks a text that is known to be JSON.
type canonicalizer struct {
	text  []byte // what is left of it
	exact bool
}

// next skips to the next token and returns its first character.
func (c *canonicalizer) next() byte {
	c.text = bytes.TrimLeft(c.text, " \t\r\n")
	return c.text[0]
}

// take consumes the next n bytes.
func (c *canonicalizer) take(n int) []byte {
	taken := c.text[:n]
	c.text = c.text[n:]
	return taken
}

// more is between the elements of an array or an object: false, and past its
// end, after the last.
func (c *canonicalizer) more(end byte) bool {
	at := c.next()
	if at == ',' || at == end {
		c.take(1)
	}
	return at != end
}

func (c *canonicalizer) value(out []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	switch c.next() {
	case '{':
		return c.object(out, depth)
	case '[':
		return c.array(out, depth)
	case '"':
		text, err := c.string()
		return appendString(out, text), err
	case 't', 'n':
		return append(out, c.take(len("true"))...), nil
	case 'f':
		return append(out, c.take(len("false"))...), nil
	default:
		return c.number(out)
	}
}

// string consumes a string and returns what it means: of one without escapes a
// piece of the text.
func (c *canonicalizer) string() ([]byte, error) {
	c.next()
	end, escaped := 1, false
	for ; c.text[end] != '"'; end++ {
		if c.text[end] == '\\' {
			escaped = true
			end++
		}
	}
	quoted := c.take(end + 1)
	if !escaped {
		return quoted[1:end], nil
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err
}

func (c *canonicalizer) array(out []byte, depth int) (_ []byte, err error) {
	out = append(out, c.take(1)...)
	for n := 0; c.more(']'); n++ {
		if n > 0 {
			out = append(out, ',')
		}
		if out, err = c.value(out, depth+1); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// member is of an object: its name, and where in the output it stands.
type member struct {
	name       []byte
	start, end int
}

// object sorts its members by their names' UTF-16 code units (RFC 8785,
// section 3.2.3). They are written as they come, and moved only if that is not
// their order.
func (c *canonicalizer) object(out []byte, depth int) (_ []byte, err error) {
	var small [8]member // most objects need no more memory
	members, sorted := small[:0], true
	out = append(out, c.take(1)...)
	for c.more('}') {
		if len(members) > 0 {
			out = append(out, ',')
		}
		m := member{start: len(out)}
		if m.name, err = c.string(); err != nil {
			return nil, err
		}
		c.next()
		out = append(appendString(out, m.name), c.take(len(":"))...)
		if out, err = c.value(out, depth+1); err != nil {
			return nil, err
		}
		m.end = len(out)
		sorted = sorted && (len(members) == 0 || compareUTF16(members[len(members)-1].name, m.name) < 0)
		members = append(members, m)
	}
	if !sorted {
		if err := sortMembers(out, members); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// sortMembers moves an object's members, with which the output ends.
func sortMembers(out []byte, members []member) error {
	written := out[members[0].start:]
	base := members[0].start
	as := bytes.Clone(written)
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	written = written[:0]
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(members[i-1].name, m.name) {
				return errDuplicate
			}
			written = append(written, ',')
		}
		written = append(written, as[m.start-base:m.end-base]...)
	}
	return nil
}

// compareUTF16 is bytes.Compare for code units. Below the surrogates the two
// orders are one.
func compareUTF16(a, b []byte) int {
	high := func(r rune) bool { return r >= 0xE000 }
	if bytes.IndexFunc(a, high) < 0 || bytes.IndexFunc(b, high) < 0 {
		return bytes.Compare(a, b)
	}
	return slices.Compare(utf16.Encode(bytes.Runes(a)), utf16.Encode(bytes.Runes(b)))
}

func appendString(out, s []byte) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		default: // a control character (RFC 8785, section 3.2.2.2)
			if n := strings.IndexByte("\b\t\n\f\r", c); n >= 0 {
				out = append(out, '\\', "btnfr"[n])
			} else {
				const hex = "0123456789abcdef"
				out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
	}
	return append(out, '"')
}

// hasLoneSurrogate finds an escaped UTF-16 surrogate without its other half,
// which encoding/json would silently replace.
func hasLoneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		r, ok := escapedUnit(text[i:])
		switch {
		case !ok:
			i++ // a short escape; skip what it escapes
		case !utf16.IsSurrogate(r):
			i += 5
		default:
			low, _ := escapedUnit(text[i+6:])
			if utf16.DecodeRune(r, low) == utf8.RuneError {
				return true
			}
			i += 11
		}
	}
	return false
}

func escapedUnit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

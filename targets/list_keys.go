package targets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cronce/cronce/ledger"
)

// readKeys reads the keys in a page of a list: the texts and whole numbers at a path of
// field names. A list on the way stands for each of its items. Nothing but the keys is kept,
// and of a list that is too long no more than its first Max+1 keys are read.
func readKeys(page io.Reader, each ledger.Each) ([]string, error) {
	r := listReader{d: json.NewDecoder(page), max: each.Max, keys: []string{}}
	r.d.UseNumber()
	var fields []string
	if each.Items != "" {
		fields = strings.Split(each.Items, ".")
	}
	err := r.read(fields, 0)
	if err == nil {
		if _, end := r.d.Token(); !errors.Is(end, io.EOF) { // such as one value a line
			err = errors.New("the answer is more than one JSON value; answer with a single list or object")
		}
	}
	if errors.Is(err, errTooLong) {
		err = nil
	}
	return r.keys, err
}

// errTooLong ends the reading of a list of more than its maximum of items.
var errTooLong = errors.New("the list is too long")

// maxListDepth bounds how deep lists on the way to the keys are in each other, and maxSkipDepth
// other values.
const (
	maxListDepth = 1000
	maxSkipDepth = 10_000
)

// listReader reads a page value by value.
type listReader struct {
	d    *json.Decoder
	max  int
	keys []string
}

// read adds every key in the next value. Only the items of a list have keys.
func (r *listReader) read(path []string, lists int) error {
	value, err := r.token()
	if err != nil {
		return err
	}
	switch v := value.(type) {
	case json.Delim:
		switch {
		case v == '[' && lists == maxListDepth:
			return fmt.Errorf("the answer has more than %d lists in each other", maxListDepth)
		case v == '[':
			for err == nil && r.d.More() {
				err = r.read(path, lists+1)
			}
			return r.closed(err)
		case len(path) > 0:
			return r.field(path, lists)
		}
	case string:
		if len(path) == 0 && lists > 0 {
			return r.add(v)
		}
	case json.Number:
		if len(path) == 0 && lists > 0 && !strings.ContainsAny(v.String(), ".eE") {
			return r.add(v.String())
		}
	}
	if lists == 0 {
		return errors.New("each.items leads to no list; name the field that has it")
	}
	return fmt.Errorf("each.items leads to %s, and a key is a text or a whole number", kindOf(value))
}

// field reads the field of an object that the path names, and passes over the others.
func (r *listReader) field(path []string, lists int) (err error) {
	found := false
	for err == nil && r.d.More() {
		var name json.Token
		if name, err = r.token(); err != nil {
			return err
		}
		switch {
		case name != path[0]:
			err = r.skip()
		case found: // programs differ in which of the two they take
			return fmt.Errorf("an object has the field %q twice", path[0])
		default:
			found, err = true, r.read(path[1:], lists)
		}
	}
	if err = r.closed(err); err == nil && !found {
		err = fmt.Errorf("an object has no field %q; correct each.items", path[0])
	}
	return err
}

// skip passes over a value.
func (r *listReader) skip() error {
	for depth := 0; ; {
		value, err := r.token()
		if err != nil {
			return err
		}
		switch value {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		switch {
		case depth == 0:
			return nil
		case depth > maxSkipDepth: // the decoder remembers each of them
			return fmt.Errorf("the answer has more than %d values in each other", maxSkipDepth)
		}
	}
}

func (r *listReader) add(key string) error {
	if strings.ContainsRune(key, utf8.RuneError) { // what the decoder makes of invalid Unicode
		return fmt.Errorf("the key %q contains invalid Unicode or U+FFFD, so two keys could be read as one", key)
	}
	if r.keys = append(r.keys, key); len(r.keys) > r.max {
		return errTooLong
	}
	return nil
}

// closed reads the end of a list or an object.
func (r *listReader) closed(err error) error {
	if err == nil {
		_, err = r.token()
	}
	return err
}

// token returns the next token of the body. That a body ends too early is an error, since keys would be
// missing.
func (r *listReader) token() (json.Token, error) {
	value, err := r.d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	return value, nil
}

func kindOf(value any) string {
	switch value.(type) {
	case json.Delim:
		return "an object"
	case nil:
		return "null"
	case bool:
		return "true or false"
	}
	return "a field of a text or number"
}

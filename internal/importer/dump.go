package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// object is a JSON object of a dump and the line on which it begins.
type object struct {
	file   string
	line   int
	fields json.RawMessage
}

// each reads the objects of dumps into values: those of each dump's documents one after
// the other, as commands append them, and those of the lists in them under these names.
func each[T any](files []File, read func(object, T) error, lists ...string) error {
	for _, f := range files {
		found, err := documents(f, lists)
		if err != nil {
			return err
		}
		for _, o := range found {
			var value T
			if err := json.Unmarshal(o.fields, &value); err != nil {
				field := ""
				if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
					field = " " + wrong.Field
				}
				return fmt.Errorf("%s:%d: the field%s is of an unexpected type", o.file, o.line, field)
			}
			if err := read(o, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// documents returns the objects of all JSON documents in a file: a loop of commands prints one after the
// other.
func documents(f File, lists []string) ([]object, error) {
	decoder := json.NewDecoder(bytes.NewReader(f.Data))
	var all []object
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: not JSON; dump with --format=json (gcloud) or --output json (aws)",
				f.Name, lineAt(f.Data, int(decoder.InputOffset())))
		}
		found, err := within(f, raw, int(decoder.InputOffset())-len(raw), lists)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// within lists the objects of one document that begins at an offset of the file. A list that
// a command cut short is an error: the registry would lack jobs without a word.
func within(f File, raw json.RawMessage, at int, lists []string) ([]object, error) {
	lead := len(raw) - len(bytes.TrimLeft(raw, " \t\r\n"))
	raw, at = raw[lead:], at+lead
	switch {
	case len(raw) == 0:
		return nil, nil
	case raw[0] == '[':
		return items(f, raw, at, lists)
	case raw[0] != '{':
		return nil, fmt.Errorf("%s:%d: not an object; the importer reads the JSON that the command line prints", f.Name, lineAt(f.Data, at))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("%s:%d: not an object", f.Name, lineAt(f.Data, at))
	}
	for _, name := range lists {
		if next := string(fields["NextToken"]); next != "" && next != "null" && fields[name] != nil {
			return nil, fmt.Errorf("%s:%d: only a part of the list (NextToken); dump it without --max-items and --no-paginate", f.Name,
				lineAt(f.Data, at))
		}
		if list := fields[name]; len(list) > 0 && list[0] == '[' {
			return items(f, list, at+max(0, bytes.Index(raw, list)), lists) // the decoder does not tell the offset
		}
	}
	return []object{{f.Name, lineAt(f.Data, at), raw}}, nil
}

// items returns the objects of a list that begins at an offset of the file.
func items(f File, list json.RawMessage, at int, lists []string) ([]object, error) {
	decoder := json.NewDecoder(bytes.NewReader(list))
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("%s:%d: not a list", f.Name, lineAt(f.Data, at))
	}
	var all []object
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, fmt.Errorf("%s:%d: not JSON", f.Name, lineAt(f.Data, at+int(decoder.InputOffset())))
		}
		if len(raw) > 0 && raw[0] == '[' {
			return nil, fmt.Errorf("%s:%d: a list within a list", f.Name, lineAt(f.Data, at))
		}
		found, err := within(f, raw, at+int(decoder.InputOffset())-len(raw), lists)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}

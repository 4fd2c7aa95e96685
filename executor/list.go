package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// listKeys returns the keys in a page of a list: the texts and whole numbers at a path of
// field names. A list on the way stands for each of its items.
func listKeys(page, path string) (keys []string, err error) {
	d := json.NewDecoder(strings.NewReader(page))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // such as one value a line
		return nil, fmt.Errorf("the answer is more than one JSON value; answer with a single list or object")
	}
	var fields []string
	if path != "" {
		fields = strings.Split(path, ".")
	}
	err = walkList(value, fields, false, func(key string) { keys = append(keys, key) })
	return keys, err
}

// walkList calls each for every key in a value. Only the items of a list have keys.
func walkList(value any, path []string, inList bool, each func(key string)) error {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if err := walkList(item, path, true, each); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if len(path) > 0 {
			field, found := v[path[0]]
			if !found {
				return fmt.Errorf("an object has no field %q; correct each.items", path[0])
			}
			return walkList(field, path[1:], inList, each)
		}
	case string:
		if len(path) == 0 && inList {
			each(v)
			return nil
		}
	case json.Number:
		if len(path) == 0 && inList && !strings.ContainsAny(v.String(), ".eE") {
			each(v.String())
			return nil
		}
	}
	if !inList {
		return fmt.Errorf("each.items leads to no list; name the field that has it")
	}
	return fmt.Errorf("each.items leads to %s, and a key is a text or a whole number", kindOf(value))
}

func kindOf(value any) string {
	switch value.(type) {
	case map[string]any:
		return "an object"
	case nil:
		return "null"
	case bool:
		return "true or false"
	}
	return "a field of a text or number"
}

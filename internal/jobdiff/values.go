package jobdiff

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
)

// Value is a field of a job in words.
type Value struct {
	Field string `json:"field"` // its name in the registry file, such as retry.backoff
	Value string `json:"value"` // "none" if it is not set
}

// Values returns the fields of a job but for its ID and its body, in the order of jobs.Job. A
// field is among them if processes must agree on it: if it has a name in JSON.
func Values(j jobs.Job) []Value {
	return appendValues(nil, "", reflect.ValueOf(j))[1:]
}

func appendValues(list []Value, path string, of reflect.Value) []Value {
	for f, v := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported():
		case f.Anonymous:
			list = appendValues(list, path, v)
		case v.Kind() == reflect.Struct:
			name = path + strings.ToLower(f.Name)
			if inWords, is := v.Interface().(fmt.Stringer); is {
				list = append(list, Value{name, inWords.String()})
			} else {
				list = appendValues(list, name+".", v)
			}
		case name != "" && name != "-":
			list = append(list, Value{path + name, inWords(v.Interface())})
		}
	}
	return list
}

func inWords(value any) string {
	var parts []string
	switch v := value.(type) {
	case []string:
		parts = v
	case []time.Duration:
		for _, d := range v {
			parts = append(parts, d.String())
		}
	case map[string]string:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+": "+v[name])
		}
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case jobs.Acknowledge:
		return string(cmp.Or(v, jobs.AckByOperator))
	default:
		if !reflect.ValueOf(v).IsZero() {
			return fmt.Sprint(v)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

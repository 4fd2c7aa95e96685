package jobs

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// SchemaURL is the address of the JSON Schema of the registry file, for editors.
const SchemaURL = "https://raw.githubusercontent.com/cronce/cronce/main/jobs/cronce.schema.json"

// Schema returns the JSON Schema of the registry file (draft 2020-12), for editors.
// Load checks more than the schema can say. jobs/cronce.schema.json is a copy.
func Schema() ([]byte, error) {
	root := schemaOf(reflect.TypeFor[document]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = SchemaURL
	root["title"] = "cronce registry"
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

type schema = map[string]any

// durationPattern is what time.ParseDuration takes, without a sign.
const durationPattern = `^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`

func schemaOf(t reflect.Type) schema {
	switch t {
	case delayType, periodType, spanType:
		return schema{"type": "string", "pattern": durationPattern}
	case bodyType:
		return schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		return structSchema(t)
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return schema{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int:
		return schema{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return schema{"type": "number", "minimum": 0, "maximum": 1}
	}
	return schema{"type": "string"}
}

func structSchema(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, f := range fieldsOf(t) {
		property := schemaOf(f.Type)
		property["description"] = f.Tag.Get("doc")
		if enum := f.Tag.Get("enum"); enum != "" {
			property["enum"] = enumOf(property["type"], enum)
		}
		if f.Tag.Get("required") == "true" {
			required = append(required, f.name)
		}
		properties[f.name] = property
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func enumOf(kind any, list string) []any {
	var values []any
	for _, v := range strings.Split(list, ",") {
		if n, err := strconv.Atoi(v); err == nil && kind == "integer" {
			values = append(values, n)
			continue
		}
		values = append(values, v)
	}
	return values
}

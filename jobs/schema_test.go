package jobs_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/cronce/cronce/jobs"
)

func TestSchemaFileIsCurrent(t *testing.T) {
	schema, err := jobs.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cronce.schema.json", string(schema))
}

// Every field that the file can have is in the schema, with a description.
func TestSchemaDescribesEveryField(t *testing.T) {
	data, err := os.ReadFile("cronce.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	if root["$id"] != jobs.SchemaURL {
		t.Errorf("$id is %v, want %s", root["$id"], jobs.SchemaURL)
	}
	if n := describe(t, "", root); n < 50 {
		t.Errorf("only %d fields", n)
	}
}

func describe(t *testing.T, path string, schema map[string]any) (fields int) {
	for _, inner := range []string{"items", "additionalProperties"} {
		if s, ok := schema[inner].(map[string]any); ok {
			fields += describe(t, path, s)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		p := property.(map[string]any)
		if p["description"] == "" || name == "" {
			t.Errorf("%s.%s has no description", path, name)
		}
		fields += 1 + describe(t, path+"."+name, p)
	}
	return fields
}

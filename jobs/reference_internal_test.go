package jobs

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

const referenceIntro = `# Registry reference

Every field of the registry file. The page is generated from the types that decode the file
(` + "`UPDATE_GOLDEN=1 go test ./jobs -run Reference`" + `); [examples/registry.yaml](../examples/registry.yaml) shows most fields in one
file, and [jobs/cronce.schema.json](../jobs/cronce.schema.json) is the JSON Schema for editors. An unknown field is an error.

Durations have a unit: ` + "`500ms`, `30s`, `1h30m`, `24h`" + `. A field whose name ends in ` + "`Env`" + ` names an environment variable; the file
itself holds no secret ([identity.md](identity.md)).
`

var secretType = reflect.TypeFor[fileSecret]()

// The page lists what the decoder accepts: a field without a row cannot exist.
func TestReferenceIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(referenceIntro)
	writeReference(&b, "", reflect.TypeFor[document](), map[reflect.Type]bool{})
	b.WriteString("\n## Secrets\n\nWhere a secret is; the file never holds the secret itself. Set one of the two fields.\n\n")
	writeFields(&b, reflect.TypeFor[fileSecret]())
	const file = "../docs/registry.md"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs from the types; UPDATE_GOLDEN=1 rewrites it", file)
	}
}

// writeReference writes a section for a struct, then those of the structs in it.
// A type that several fields have gets one section.
func writeReference(b *strings.Builder, path string, t reflect.Type, written map[reflect.Type]bool) {
	title, prefix := "The file", ""
	if path != "" {
		title, prefix = "`"+path+"`", path+"."
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	writeFields(b, t)
	for _, f := range fieldsOf(t) {
		inner := structIn(f.Type)
		if inner == nil || inner == secretType || written[inner] {
			continue
		}
		written[inner] = true
		writeReference(b, prefix+f.name, inner, written)
	}
}

func writeFields(b *strings.Builder, t reflect.Type) {
	b.WriteString("| field | type | |\n|---|---|---|\n")
	for _, f := range fieldsOf(t) {
		required := ""
		if f.Tag.Get("required") == "true" {
			required = "**Required.** "
		}
		doc := strings.NewReplacer("|", `\|`, "*", `\*`).Replace(f.Tag.Get("doc"))
		fmt.Fprintf(b, "| `%s` | %s | %s%s |\n", f.name, typeName(f.Type, f.Tag.Get("enum")), required, doc)
	}
}

func typeName(t reflect.Type, enum string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch s := schemaOf(t); {
	case t == secretType:
		return "[secret](#secrets)"
	case structIn(t) == secretType:
		return "map of [secrets](#secrets)"
	case enum != "":
		return "`" + strings.ReplaceAll(enum, ",", "`, `") + "`"
	case s["pattern"] != nil:
		return "duration"
	case s["type"] == nil:
		return "any"
	case s["type"] == "array" && structIn(t) == nil:
		return "list of " + typeName(t.Elem(), "") + "s"
	case s["type"] == "array":
		return "list"
	case t.Kind() == reflect.Map && structIn(t) == nil:
		return "map of strings"
	case s["type"] == "object" && t.Kind() == reflect.Map:
		return "map by name"
	default:
		return s["type"].(string)
	}
}

// structIn is the struct that a field holds, or that its elements are.
func structIn(t reflect.Type) reflect.Type {
	for t != bodyType && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

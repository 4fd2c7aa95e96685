package jobs

import (
	"encoding/json"

	"github.com/cronce/cronce/jobs/internal/field"
)

// SchemaURL is the address of the JSON Schema of the registry file, for editors.
const SchemaURL = "https://raw.githubusercontent.com/cronce/cronce/main/jobs/cronce.schema.json"

// Schema returns the JSON Schema of the registry file (draft 2020-12), for editors.
// Load checks more than the schema can say. jobs/cronce.schema.json is a copy.
func Schema() ([]byte, error) {
	root := field.Object(new(document)).Schema()
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = SchemaURL
	root["title"] = "cronce registry"
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

package command

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/internal/terminal"
)

// Output is the form in which a command prints what it found or did.
type Output string

const (
	asTable Output = "table"
	AsJSON  Output = "json"
	AsID    Output = "id" // one ID a line, for other commands
)

// Outputs are the valid values of --output.
var Outputs = []Output{asTable, AsJSON, AsID}

// OutputVersion is the version of the output's JSON, as docs/commands.md has it. A field
// that is renamed, removed or given another type raises it.
const OutputVersion = 1

// readOutput decides on the form by --output and --json.
func (env *Env) readOutput(c *cobra.Command) error {
	chosen, err := OneOf("output", env.outputFlag, Outputs)
	if err != nil {
		return err
	}
	if env.jsonFlag {
		if c.Flags().Changed("output") && chosen != AsJSON {
			return Usage("--json and --output %s contradict each other; give one", chosen)
		}
		chosen = AsJSON
	}
	if chosen == AsID && !PrintsIDs(c) {
		return Usage("\"%s\" prints nothing that has an ID; valid outputs: table, json", c.CommandPath())
	}
	env.Output = chosen
	return nil
}

// Encoded reports whether output is for programs, and not a table.
func (env *Env) Encoded() bool { return env.Output != asTable && env.Output != "" }

// Encode prints one value for programs.
func (env *Env) Encode(v any) error {
	if env.Output == AsID {
		for _, id := range idsOf(v) {
			terminal.Fprintf(env.Out, "%s\n", id)
		}
		return nil
	}
	return env.EncodeJSON(v, "  ")
}

// EncodeJSON prints a value as JSON. Characters that a terminal does not show are escaped.
func (env *Env) EncodeJSON(v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := env.Out.Write(plaintext.JSON(text.Bytes()))
	return err
}

// idsOf returns the IDs that --output id prints: those of one value, of each element of a list, or of the runs that an
// action changed.
func idsOf(v any) (ids []string) {
	switch v := v.(type) {
	case interface{ IDs() []string }:
		return v.IDs()
	case operations.RunActionResult:
		return idsOf(v.Changed)
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		for i := range list.Len() {
			ids = append(ids, idsOf(list.Index(i).Interface())...)
		}
	}
	return ids
}

package command

import (
	"bytes"
	"encoding/json"
	"strconv"

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

// idsOf are the IDs of what commands that are marked by WithIDs print.
func idsOf(v any) []string {
	number := func(id int64) string { return strconv.FormatInt(id, 10) }
	switch v := v.(type) {
	case interface{ IDs() []string }:
		return v.IDs()
	case []operations.Job:
		return each(v, func(j operations.Job) string { return j.ID })
	case []operations.Run:
		return each(v, func(r operations.Run) string { return r.RunID })
	case []operations.Member:
		return each(v, func(m operations.Member) string { return m.RunID })
	case []operations.Incident:
		return each(v, func(i operations.Incident) string { return number(i.ID) })
	case []operations.Pause:
		return each(v, func(p operations.Pause) string { return number(p.ID) })
	case []operations.Template:
		return each(v, func(t operations.Template) string { return t.ID })
	case []operations.Schedule:
		return each(v, func(s operations.Schedule) string { return s.JobID })
	case operations.Schedule:
		return []string{v.JobID}
	case operations.JobDetail:
		return []string{v.ID}
	case operations.JobActionResult:
		return []string{v.JobID}
	case operations.RunDetail:
		return []string{v.RunID}
	case operations.Run:
		return []string{v.RunID}
	case operations.Incident:
		return []string{number(v.ID)}
	case operations.Pause:
		if v.ID > 0 { // else it is of a dry run
			return []string{number(v.ID)}
		}
	case operations.RunActionResult:
		return idsOf(v.Changed)
	}
	return nil
}

func each[T any](list []T, id func(T) string) (ids []string) {
	for _, v := range list {
		ids = append(ids, id(v))
	}
	return ids
}

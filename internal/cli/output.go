package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/internal/terminal"
)

// output is the form in which a command prints what it found or did.
type output string

const (
	asTable output = "table"
	asJSON  output = "json"
	asID    output = "id" // one ID a line, for other commands
)

var outputs = []output{asTable, asJSON, asID}

// outputVersion is that of the shapes of JSON, as docs/commands.md has them. A field
// that is renamed, removed or given another type raises it.
const outputVersion = 1

// withIDs are the commands that print jobs, runs or incidents.
var withIDs = []string{
	"jobs list", "jobs show", "jobs pause", "jobs resume", "runs list", "runs show", "runs follow", "runs cancel", "runs ack",
	"runs redrive", "runs rerun", "trigger", "incidents list", "incidents show", "incidents ack",
}

// readOutput decides on the form by --output and --json.
func (a *app) readOutput(c *cobra.Command) error {
	chosen, err := oneOf("output", a.outputFlag, outputs)
	if err != nil {
		return err
	}
	if a.jsonFlag {
		if c.Flags().Changed("output") && chosen != asJSON {
			return usage("--json and --output %s contradict each other; give one", chosen)
		}
		chosen = asJSON
	}
	if chosen == asID && !printsIDs(c) {
		return usage("\"%s\" prints nothing that has an ID; valid outputs: table, json", c.CommandPath())
	}
	a.output = chosen
	return nil
}

// printsIDs reports whether a command is one of withIDs.
func printsIDs(c *cobra.Command) bool {
	return slices.Contains(withIDs, strings.Join(strings.Fields(c.CommandPath())[1:], " "))
}

// encoded reports whether output is for programs, and not a table.
func (a *app) encoded() bool { return a.output != asTable && a.output != "" }

// encode prints one value for programs.
func (a *app) encode(v any) error {
	if a.output == asID {
		for _, id := range idsOf(v) {
			terminal.Fprintf(a.out, "%s\n", id)
		}
		return nil
	}
	return a.encodeJSON(v, "  ")
}

// encodeJSON prints a value as JSON. Characters that a terminal does not show are escaped.
func (a *app) encodeJSON(v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.out.Write(plaintext.JSON(text.Bytes()))
	return err
}

// idsOf are the IDs of what the commands of withIDs print.
func idsOf(v any) (ids []string) {
	switch v := v.(type) {
	case []operations.Job:
		for _, j := range v {
			ids = append(ids, j.ID)
		}
	case []operations.Run:
		for _, r := range v {
			ids = append(ids, r.RunID)
		}
	case []operations.Incident:
		for _, i := range v {
			ids = append(ids, strconv.FormatInt(i.ID, 10))
		}
	case operations.JobDetail:
		ids = []string{v.ID}
	case operations.JobActionResult:
		ids = []string{v.JobID}
	case operations.RunDetail:
		ids = []string{v.RunID}
	case operations.Run:
		ids = []string{v.RunID}
	case operations.Incident:
		ids = []string{strconv.FormatInt(v.ID, 10)}
	case operations.RunActionResult:
		return idsOf(v.Changed)
	}
	return ids
}

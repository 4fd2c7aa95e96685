package registry

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the registry file",
		Long: `schema prints the JSON schema (draft 2020-12) of the registry file, for editors
and other tools. Editors with a YAML language server find it by its URL, which
is in the first line of what init and import write:

  ` + jobs.SchemaURL + `

Without access to the internet, write it to a file and name that instead. check
finds more than a schema can.`,
		Example: "  cronce schema > cronce.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := jobs.Schema()
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
}

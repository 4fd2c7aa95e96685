// Package registry writes, imports, checks and compares registry files. Packages jobs, importer and jobdiff do the
// work. Only check --live, check --ledger, diff and next of a schedule made at run time go beyond the file and the
// environment.
package registry

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
)

type app struct{ *backend.Backend }

// Commands are init, import, schema, check, next and diff.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	next, diff := a.nextCommand(), a.diffCommand()
	command.FromServer(next)
	command.FromLedger(diff)
	return []*cobra.Command{a.initCommand(), a.importCommand(), a.schemaCommand(), a.checkCommand(), next, diff}
}

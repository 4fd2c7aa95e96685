package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
)

// source is what a command reads and changes.
type source int

const (
	serverOrLedger source = iota + 1 // a server's API or a ledger
	ledgerOnly                       // a ledger only
	noSource                         // none
)

// sources holds the source of each command, by its path below cronce. Groups of
// commands have none.
var sources = map[string]source{
	"status": serverOrLedger, "why": serverOrLedger, "next": serverOrLedger, "trigger": serverOrLedger, "backfill": serverOrLedger,
	"jobs list": serverOrLedger, "jobs show": serverOrLedger, "jobs pause": serverOrLedger, "jobs resume": serverOrLedger,
	"runs list": serverOrLedger, "runs show": serverOrLedger, "runs follow": serverOrLedger, "runs cancel": serverOrLedger, "runs ack": serverOrLedger, "runs redrive": serverOrLedger, "runs rerun": serverOrLedger,
	"incidents list": serverOrLedger, "incidents show": serverOrLedger, "incidents ack": serverOrLedger,

	"diff": ledgerOnly, "purge": ledgerOnly, "backup": ledgerOnly, "migrate up": ledgerOnly, "migrate status": ledgerOnly,

	"demo": noSource, "serve": noSource, "init": noSource, "schema": noSource, "check": noSource, "try": noSource, "conform": noSource, "health": noSource,
	"import crontab": noSource, "import kubernetes": noSource, "import eventbridge": noSource, "import cloud-scheduler": noSource, "import vercel": noSource,
	"export cloudformation": noSource, "export terraform": noSource, "export jwks": noSource, "keys generate": noSource, "keys rotate": noSource, "access token": noSource, "access check": noSource,
	"notify test": noSource, "migrate print": noSource, "version": noSource, "man": noSource,
}

// refuseServer returns a usage error if --server is set for a command that would
// not use it. Without this check, a command that works on a ledger itself would act
// on another ledger than the user means. CRONCE_SERVER may be set for other
// commands, so a command without a source ignores it.
func (a *app) refuseServer(c *cobra.Command) error {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	switch sources[name] {
	case ledgerOnly:
		if a.Server != "" && !c.Flags().Changed("against") {
			return command.Usage("%q works on a ledger itself, not through a server; leave out --server and CRONCE_SERVER, and name the ledger with --db", c.CommandPath())
		}
	case noSource:
		if c.Flags().Changed("server") {
			return command.Usage("%q asks no server; leave out --server", c.CommandPath())
		}
	}
	return nil
}

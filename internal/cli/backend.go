package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// backend is what a command reads and changes.
type backend int

const (
	serverOrLedger backend = iota + 1 // a server's API or a ledger
	ledgerOnly                        // a ledger only
	noBackend                         // none
)

// backends holds the backend of each command, by its path below cronce. Groups of
// commands have none.
var backends = map[string]backend{
	"status": serverOrLedger, "why": serverOrLedger, "next": serverOrLedger, "trigger": serverOrLedger, "backfill": serverOrLedger,
	"jobs list": serverOrLedger, "jobs show": serverOrLedger, "jobs pause": serverOrLedger, "jobs resume": serverOrLedger,
	"runs list": serverOrLedger, "runs show": serverOrLedger, "runs follow": serverOrLedger, "runs cancel": serverOrLedger, "runs ack": serverOrLedger, "runs redrive": serverOrLedger, "runs rerun": serverOrLedger,
	"incidents list": serverOrLedger, "incidents show": serverOrLedger, "incidents ack": serverOrLedger,

	"diff": ledgerOnly, "purge": ledgerOnly, "backup": ledgerOnly, "migrate up": ledgerOnly, "migrate status": ledgerOnly,

	"demo": noBackend, "serve": noBackend, "init": noBackend, "schema": noBackend, "check": noBackend, "try": noBackend, "conform": noBackend, "health": noBackend,
	"import crontab": noBackend, "import kubernetes": noBackend, "import eventbridge": noBackend, "import cloud-scheduler": noBackend, "import vercel": noBackend,
	"export cloudformation": noBackend, "export terraform": noBackend, "export jwks": noBackend, "keys generate": noBackend, "keys rotate": noBackend, "access token": noBackend, "access check": noBackend,
	"notify test": noBackend, "migrate print": noBackend, "version": noBackend, "man": noBackend,
}

// refuseServer returns a usage error if --server is set for a command that would
// not use it. Without this check, a command that works on a ledger itself would act
// on another ledger than the user means. CRONCE_SERVER may be set for other
// commands, so a command without a backend ignores it.
func (a *app) refuseServer(c *cobra.Command) error {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	switch backends[name] {
	case ledgerOnly:
		if a.server != "" && !c.Flags().Changed("against") {
			return usage("%q works on a ledger itself, not through a server; leave out --server and CRONCE_SERVER, and name the ledger with --db", c.CommandPath())
		}
	case noBackend:
		if c.Flags().Changed("server") {
			return usage("%q asks no server; leave out --server", c.CommandPath())
		}
	}
	return nil
}

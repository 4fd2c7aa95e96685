package command

import "github.com/spf13/cobra"

// Annotations of commands.
const (
	Source    = "cronce_source"
	printsIDs = "cronce_prints_ids"

	ServerOrLedger = "server"
	LedgerOnly     = "ledger"
)

// FromServer marks commands, and all below them, that ask the server of --server, else a
// ledger. A command without a mark uses neither.
func FromServer(commands ...*cobra.Command) { mark(Source, ServerOrLedger, commands) }

// FromLedger marks commands, and all below them, that work on a ledger alone.
func FromLedger(commands ...*cobra.Command) { mark(Source, LedgerOnly, commands) }

// WithIDs marks commands, and all below them, that print jobs, runs or incidents, and so
// can print the IDs alone.
func WithIDs(commands ...*cobra.Command) { mark(printsIDs, "", commands) }

func mark(name, value string, commands []*cobra.Command) {
	for _, c := range commands {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[name] = value
		mark(name, value, c.Commands())
	}
}

// PrintsIDs reports whether a command is marked by WithIDs.
func PrintsIDs(c *cobra.Command) bool {
	_, marked := c.Annotations[printsIDs]
	return marked
}

// refuseServer returns a usage error if --server is set for a command that would
// not use it. Without this check, a command that works on a ledger itself would act
// on another ledger than the user means. CRONCE_SERVER may be set for other
// commands, so a command that uses neither ignores it.
func (env *Env) refuseServer(c *cobra.Command) error {
	switch c.Annotations[Source] {
	case ServerOrLedger:
	case LedgerOnly:
		if env.Server != "" && !c.Flags().Changed("against") {
			return Usage("%q works on a ledger itself, not through a server; leave out --server and CRONCE_SERVER, and name the ledger with --db",
				c.CommandPath())
		}
	default:
		if c.Flags().Changed("server") && !c.HasSubCommands() {
			return Usage("%q asks no server; leave out --server", c.CommandPath())
		}
	}
	return nil
}

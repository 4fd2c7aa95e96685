// Package storage creates, migrates, purges and copies the tables of the ledger and of
// keys. Packages migrations, cleanup and sqlite do the work.
package storage

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
)

type app struct{ *backend.Backend }

// Commands are migrate, purge and backup.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	purge, backup := a.purgeCommand(), a.backupCommand()
	command.FromLedger(purge, backup)
	return []*cobra.Command{purge, backup, a.migrateCommand()}
}

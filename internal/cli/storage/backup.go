package storage

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/ledger/sqlite"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy an SQLite ledger to a new file, while serve runs",
		Long: `backup copies the ledger of --db to FILE, which must not exist. serve and other
commands go on meanwhile. The copy is one state of the ledger, checked and on
the disk when backup ends, and readable for its owner only: it has the bodies of
calls. docs/upgrade.md says how to restore it.

The copy has no free pages, so it may be smaller than the ledger. For a ledger
on PostgreSQL use pg_dump --schema cronce.`,
		Example: `  cronce backup /var/backups/cronce-$(date +%F).db --db sqlite:/var/lib/cronce/cronce.db`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.backup(c.Context(), args[0]) },
	}
}

// backup copies an SQLite ledger. PostgreSQL has tools of its own for that.
func (a *app) backup(ctx context.Context, to string) error {
	kind, path, err := backend.Engine(a.DatabaseURL())
	if err != nil {
		return err
	}
	if kind != "sqlite" {
		return command.Usage("backup is for a ledger in an SQLite file; use pg_dump --schema cronce for PostgreSQL, see docs/upgrade.md")
	}
	if !a.LedgerExists() {
		return a.NoLedger()
	}
	if err := sqlite.Backup(ctx, path, to); err != nil {
		return err
	}
	info, err := os.Stat(to)
	if err != nil {
		return err
	}
	if a.Encoded() {
		return a.Encode(map[string]any{"ledger": path, "file": to, "bytes": info.Size()})
	}
	_, err = fmt.Fprintf(a.Out, "%s backed up to %s, %d bytes\n", path, to, info.Size())
	return err
}

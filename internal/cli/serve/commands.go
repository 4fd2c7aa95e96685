// Package serve runs a registry until it is stopped: it wires an executor, the watches
// of the purge and of incidents, the HTTP servers and the metrics.
//
// What lasts as long as the process is in server: the ledger, the metrics, the access
// file. What a reload of the registry replaces is an instance; package rollover starts
// the next one beside the current one. Signals, systemd's watchdog and the lock of an
// SQLite ledger have a file each.
package serve

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
)

type app struct{ *backend.Backend }

// Commands are serve and health.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	return []*cobra.Command{a.serveCommand(), a.healthCommand()}
}

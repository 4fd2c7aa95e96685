// Package serve runs a registry until it is stopped.
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

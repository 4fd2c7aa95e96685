// Package deploy exports a registry for platforms: the templates of package export, and
// the public keys that verify signed calls.
package deploy

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
)

type app struct{ *backend.Backend }

// Commands is export.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	return []*cobra.Command{command.Group("export", "Export the registry for a platform",
		a.exportCloudFormationCommand(), a.exportTerraformCommand(), a.exportJWKSCommand())}
}

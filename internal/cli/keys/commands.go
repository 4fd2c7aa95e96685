// Package keys makes the keys that sign calls, and the tokens of the API. A key file is
// written for its owner only and never replaced in part.
package keys

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
)

type app struct{ *backend.Backend }

// Commands are keys and access.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	return []*cobra.Command{
		command.Group("keys", "Make and rotate the keys that sign calls", a.keysGenerateCommand(), a.keysRotateCommand()),
		command.Group("access", "Make tokens for the API, and check the access file", a.accessTokenCommand(), a.accessCheckCommand()),
	}
}

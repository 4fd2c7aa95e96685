// Package target tests targets and channels with real calls: try for one job, conform for a service that follows the
// test protocol, notify for a channel. None writes to a ledger, so a test leaves no run behind.
package target

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/internal/cli/command"
)

type app struct{ *backend.Backend }

// Commands are try, conform and notify.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	return []*cobra.Command{a.tryCommand(), a.conformCommand(),
		command.Group("notify", "Test the channels that receive notifications", a.notifyTestCommand())}
}

// Package target tests targets and channels with real calls.
package target

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
)

type app struct{ *backend.Backend }

// Commands are try, conform and notify.
func Commands(b *backend.Backend) []*cobra.Command {
	a := &app{b}
	return []*cobra.Command{a.tryCommand(), a.conformCommand(), a.notifyCommand()}
}

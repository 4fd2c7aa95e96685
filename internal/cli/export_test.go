package cli

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
)

// Root is the command cronce, with all others below it.
func Root(env *command.Env) *cobra.Command { return newApp(env).rootCommand() }

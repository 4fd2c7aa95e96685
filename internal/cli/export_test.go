package cli

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
)

// Root is the command cronce, with all others below it.
func Root(env *command.Env) *cobra.Command { return newApp(env).rootCommand() }

// Sources are what commands read and change.
var Sources = sources

const (
	ServerOrLedger = serverOrLedger
	LedgerOnly     = ledgerOnly
	NoSource       = noSource
)

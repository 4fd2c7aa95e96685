// Package backend opens what a command works on: the registry file, a ledger, or the
// API of a server. Of the command line only it and backup know the engines of ledgers.
package backend

import "github.com/cronce/cronce/internal/cli/command"

// Backend opens the registry, the ledger and the server that the flags of a command name.
type Backend struct{ *command.Env }

// Package backend opens what a command works on: the registry file, a ledger, or the API of a server. Of the command
// line only it and backup know the engines of ledgers.
//
// A ledger is opened in one of four ways. OpenLedger creates and migrates it, for commands that may be the first.
// ExistingLedger migrates it and refuses an absent one, for actions. LedgerToRead changes nothing. LedgerIfAny does the
// same, and returns nil for an absent one, for commands that can answer from the registry alone. Operator opens one of
// these, or the server of --server.
package backend

import "github.com/cronce/cronce/internal/cli/command"

// Backend opens the registry, the ledger and the server that the flags of a command name.
type Backend struct{ *command.Env }

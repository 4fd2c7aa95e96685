package memory

import "github.com/cronce/cronce/ledger"

// Rows returns the engine's rows.
func (l *Ledger) Rows() ledger.Rows { return rows{l} }

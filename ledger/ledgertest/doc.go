// Package ledgertest is the executable contract of a ledger: whatever passes
// Run can stand behind the executor and the operators' commands.
//
// Each case is named after the rule that it defends; the rules themselves
// stand in package ledger, beside the type that they concern.
package ledgertest

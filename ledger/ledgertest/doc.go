// Package ledgertest is the contract of ledger.Store as a test suite. A store that passes
// Run works with the executor and with the operators' commands.
//
// Each case is named after the rule that it tests. Package ledger documents the
// rules, each at the type that it concerns.
package ledgertest

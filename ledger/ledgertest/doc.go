// Package ledgertest is the contract of a ledger as a test suite: a store that
// passes Run works with the executor and with the operators' commands.
//
// Each case is named after the rule that it tests. Package ledger documents the
// rules, each at the type that it concerns.
package ledgertest

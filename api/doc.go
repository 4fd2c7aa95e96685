// Package api serves operators' queries and actions on a ledger over HTTP, by the
// contract of openapi.yaml. Every mutation takes an idempotency key through the
// kit, so that a request whose answer was lost can be repeated.
package api

import _ "embed"

// Document is the contract (OpenAPI 3.1).
//
//go:embed openapi.yaml
var Document []byte

// Package api serves operators' queries and actions on a ledger over HTTP. The contract
// is openapi.yaml. Every mutation takes an idempotency key, so that a request whose
// answer was lost can be repeated.
package api

import _ "embed"

// Document is the contract of the API: openapi.yaml, in OpenAPI 3.1.
//
//go:embed openapi.yaml
var Document []byte

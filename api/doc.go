// Package api serves operators' queries and actions on a ledger over HTTP. The contract
// is openapi.yaml. Every mutation takes an idempotency key, so that a request whose
// answer was lost can be repeated.
//
// The package translates HTTP to package operations and back: it reads parameters and
// bodies strictly (params.go, decode.go), calls one query or action, and writes its
// answer or a Problem. It knows no rule of a run and holds no ledger. Its own state is
// the Gate: who makes a request (package access), and how many requests each identity
// has made and has in progress.
package api

import _ "embed"

// Document is the contract of the API: openapi.yaml, in OpenAPI 3.1.
//
//go:embed openapi.yaml
var Document []byte

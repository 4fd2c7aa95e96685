// Package frameworks shows how a service mounts the idempotency kit on chi, echo or
// gin (package orm: GORM, bun or sqlc), and how it uses the kit inside transactions
// that its own middleware opens. It is a module of its own, so that the frameworks
// are not dependencies of the product.
package frameworks

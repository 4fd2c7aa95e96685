// Package idempotency makes a service's operations apply once, however often
// they are asked for: a scheduler's retries, a client's, an event delivered
// again, a call to a vendor whose answer was lost.
//
// A caller names each operation with a key and repeats the key whenever it
// repeats the operation. The kit keeps what became of the key in the service's
// own database and answers every repetition from there.
//
// # Three entry points
//
//   - [Kit.Handler] is net/http middleware. The handler gets a transaction
//     through the engine's accessor (postgres.Tx(ctx), pgsql.Tx(ctx),
//     mysql.Tx(ctx), sqlite.Tx(ctx)) and writes through it.
//   - [Kit.Do] and [Do] do the same for an event handler, or for any function.
//   - [Call] and package vendor are for effects outside the database.
//
// # What is guaranteed
//
// With the first two the claim of the key, the effect and the stored
// reply are one transaction: a crash leaves all of it or nothing. Of any number
// of calls with one key one does the work; the others get its reply, or are told
// that it is still under way. A key is bound to its scope, to the principal that
// used it and to the payload that came with it.
//
// Not guaranteed: effects that bypass the transaction, and anything once the
// key has expired. A caller says until when it may still be asking with the
// header Cronce-Send-Before; the kit starts no work after that time.
//
// This package needs only the standard library. The engines are in the
// packages below it; package idempotencytest is the contract they pass.
package idempotency

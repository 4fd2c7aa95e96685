// Package idempotency makes an operation of a service take effect once, however often
// its callers repeat it. Use it in a service that schedulers, retrying clients or queues
// call.
//
// A caller names each operation with a key and sends the same key with each
// repetition. The kit stores the reply under the key in the service's own
// database, and answers each repetition with it.
//
// A service opens an engine (package postgres, pgsql, mysql or sqlite), makes one
// kit with [New], and calls [Kit.Ready] when it starts.
//
// # Entry points
//
//   - [Kit.Handler] is net/http middleware. The handler writes through the
//     transaction that the engine's function returns: postgres.Tx(ctx),
//     pgsql.Tx(ctx), mysql.Tx(ctx) or sqlite.Tx(ctx).
//   - [Kit.Do] and [Do] do the same for an event handler, or for any function.
//   - [Kit.Accept] and [Kit.DoLong] are for work that takes longer than a caller
//     waits.
//   - [Call] and package vendorhttp are for effects outside the database.
//
// Packages grpc and nats, each a module of its own, are the entry points for gRPC
// methods and for events of NATS JetStream.
//
// # What is guaranteed
//
// With Handler and Do, the claim of the key, the effect and the stored reply are one
// transaction: a crash leaves all of it or nothing. Of any number of calls with one key,
// one does the work. The others get its reply, or are told that it is still in progress.
// A key belongs to its scope, to the principal that used it, and to the payload that came
// with it.
//
// Effects outside the transaction are not protected. After a key has expired, a call with
// it is new work. A caller that sends the header Cronce-Send-Before gets no new work from
// that time on.
//
// This package needs only the standard library. To write an engine of your own, implement
// the interfaces of package store and test it with package idempotencytest.
package idempotency

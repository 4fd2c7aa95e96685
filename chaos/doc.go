// Package chaos breaks the product as machines and networks do, and counts what
// came of it: built binaries, a real PostgreSQL that crashes, a target service
// with the idempotency kit, and a network between all of them that delays,
// swallows, cuts and resets. Processes are killed and suspended at random, and
// replaced in the middle of their work by ones with an edited registry.
//
// It ends in the checker of internal/proof: every scheduled time has exactly
// one row in the ledger, every succeeded run exactly one effect in the target's
// own database, no effect is without a run, and no run stays unfinished.
//
// The same processes, left in peace, show how late a crowd of jobs is and how
// much memory a long run takes. The module is apart from the product's so that
// its proxies are no dependency of it.
package chaos

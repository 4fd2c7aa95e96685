// Package chaos injects the faults of machines and networks into the real product,
// and counts what was lost or doubled. It runs built binaries, a PostgreSQL that
// crashes, a target service with the idempotency kit, and a network between all of
// them that delays, drops, cuts and resets connections. Processes are killed and
// suspended at random, and replaced during their work by ones with an edited
// registry.
//
// It ends in the checker of internal/proof: every scheduled time has exactly
// one row in the ledger, every succeeded run exactly one effect in the target's
// own database, no effect is without a run, and no run stays unfinished.
//
// Clients make, change and delete schedules of a template meanwhile (storm). The database
// notes each revision of a schedule; each must be one that a client asked for, each answer
// must agree with them, and each content must have been due exactly while it held.
//
// Long work goes through the same faults at each of its steps (LongWork), on each
// engine that keeps keys, and with a target that has no kit.
//
// Without faults, the same processes show how late many jobs due at once are, and how
// much memory a long run takes. It is a module of its own, so that the product does
// not depend on its proxies.
package chaos

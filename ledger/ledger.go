package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Ledger has the rules of a run's life, over the rows of an engine. Its methods are those of
// a Store but Ping and Close, which an engine adds, and are safe for concurrent use.
type Ledger struct {
	rows    Rows
	changes changeBatches
	due     dueFloor
	scanner *slotScanner
}

// Option changes what New returns.
type Option func(*Ledger)

// SlotScanBatch bounds the waiting jobs that one claim scans for free slots; default 200. A
// simulation has few jobs, and a smaller bound.
func SlotScanBatch(jobs int) Option { return func(l *Ledger) { l.scanner.batch = jobs } }

// New returns a ledger over an engine's rows.
func New(rows Rows, options ...Option) *Ledger {
	scanner := &slotScanner{batch: scanBatch, partial: true}
	l := &Ledger{rows: ruleRows{rows, scanner}, scanner: scanner}
	for _, option := range options {
		option(l)
	}
	return l
}

// write runs f in a transaction and returns its result. f may run more than once.
func write[T any](ctx context.Context, l *Ledger, name string, f func(Tx) (T, error)) (result T, err error) {
	err = l.rows.Write(ctx, name, func(tx Tx) (err error) {
		result, err = f(tx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// read runs f in a reading transaction and returns its result. See [Rows.Read].
func read[T any](ctx context.Context, l *Ledger, name string, f func(Tx) (T, error)) (result T, err error) {
	err = l.rows.Read(ctx, name, func(tx Tx) (err error) {
		result, err = f(tx)
		return err
	})
	return result, err
}

// update writes changes of rows that the transaction has locked. It leaves out those that
// change nothing.
func update(tx Tx, changes []RowChange) error {
	changes = slices.DeleteFunc(changes, func(c RowChange) bool { return c.Set == 0 })
	if err := checkMoves(changes); err != nil || len(changes) == 0 {
		return err
	}
	return tx.Update(changes)
}

// updateFenced writes changes of rows that may have changed, and reports which it wrote.
func updateFenced(tx Tx, changes []RowChange) Future[[]bool] {
	if err := checkMoves(changes); err != nil || len(changes) == 0 {
		return ResolvedFuture[[]bool](nil, err)
	}
	return tx.UpdateFenced(changes)
}

// checkMoves refuses a move that the diagram of State does not have. Every change of a
// run's state passes it.
func checkMoves(changes []RowChange) error {
	for i := range changes {
		c := &changes[i]
		if c.Set&ColState != 0 && !CanMove(c.From, c.Row.State) {
			return fmt.Errorf("run %s cannot go from %s to %s; this is a defect of cronce, please report it", c.Row.ID, c.From, c.Row.State)
		}
	}
	return nil
}

// microsecond truncates a duration to what a store keeps.
func microsecond(d time.Duration) time.Duration { return d.Truncate(time.Microsecond) }

// runIDs returns the IDs of rows.
func runIDs(rows []Row) []string {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// summaryIDs returns the run IDs of summaries.
func summaryIDs(list []RunSummary) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].RunID
	}
	return ids
}

// jobsByID returns the rows of jobs by their IDs. They point into the list.
func jobsByID(list []JobRow) map[string]*JobRow {
	jobs := make(map[string]*JobRow, len(list))
	for i := range list {
		jobs[list[i].JobID] = &list[i]
	}
	return jobs
}

// jobsOf returns the jobs of run IDs, each once, in order.
func jobsOf(runIDs []string) []string {
	jobs := make([]string, len(runIDs))
	for i, id := range runIDs {
		jobs[i] = JobOf(id)
	}
	return sortedSet(jobs)
}

// distinctJobs returns the jobs of rows, each once, in order.
func distinctJobs(rows []Row) []string {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].JobID
	}
	return sortedSet(ids)
}

// sortedSet returns the IDs in order, each once.
func sortedSet(ids []string) []string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

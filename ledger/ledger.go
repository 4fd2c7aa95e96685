package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Ledger has the rules of a run's life, over the rows of an engine. Its methods are
// those of a Store, and safe for concurrent use.
type Ledger struct {
	rows Rows
}

// New returns a ledger over an engine's rows.
func New(rows Rows) *Ledger { return &Ledger{rows} }

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

// read runs f on one state of the rows and returns its result.
func read[T any](ctx context.Context, l *Ledger, name string, f func(Tx) (T, error)) (result T, err error) {
	err = l.rows.Read(ctx, name, func(tx Tx) (err error) {
		result, err = f(tx)
		return err
	})
	return result, err
}

// update writes changes. It is the one place where a run's state changes: it refuses a
// move that the diagram of State does not have.
func update(tx Tx, changes []Change) ([]bool, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	for i := range changes {
		c := &changes[i]
		if c.Set&ColState != 0 && !CanMove(c.From, c.Row.State) {
			return nil, fmt.Errorf("run %s cannot go from %s to %s; this is a defect of cronce, please report it", c.Row.ID, c.From, c.Row.State)
		}
	}
	return tx.Update(changes)
}

// updateAll writes changes of rows that the transaction has locked.
func updateAll(tx Tx, changes []Change) error {
	updated, err := update(tx, changes)
	for i, ok := range updated {
		if !ok && err == nil {
			err = fmt.Errorf("run %s changed although it is locked; this is a defect of cronce, please report it", changes[i].Row.ID)
		}
	}
	return err
}

// microsecond truncates a duration to what a store keeps.
func microsecond(d time.Duration) time.Duration { return d.Truncate(time.Microsecond) }

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

package ledger

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Definition is one version of a job as a registry declares it.
type Definition struct {
	JobID string
	Hash  string // identifies the definition; "" in Plan.Next: the job is gone
	Body  []byte // the job, enough to plan it (JSON)
}

// DeclaredDefinition is a definition and when a process first declared it.
type DeclaredDefinition struct {
	Definition
	At time.Time
}

// Declaration registers a process and the definitions that it has. Disabled jobs
// are not declared.
type Declaration struct {
	Process  string // random, unique to the process
	Registry string // the registry's name; a ledger belongs to one registry
	Version  string // identifies the set of definitions
	Host     string // the machine's name, for a person; may be empty
	Program  string // the program's version, for a person; may be empty
	// Definitions yields the definitions by job ID, each time the same. A ledger takes
	// them in batches, so that those of a large registry are never in memory together.
	// Required.
	Definitions iter.Seq[Definition]
}

// Declare registers the process and its definitions, and counts as its first heartbeat.
// It returns ErrOtherRegistry for a registry of another name: see BindRegistry.
func (l *Ledger) Declare(ctx context.Context, d Declaration) error {
	return l.writeAfterClockStep(ctx, "declare the process", func(tx Tx) (stepped bool, err error) {
		registryFuture, processesFuture, leaseFuture := tx.BindRegistry(d.Registry), tx.Processes(), tx.LastLease()
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		if err := checkRegistry(registryFuture, d.Registry); err != nil {
			return false, err
		}
		step, err := clockStep(processesFuture, leaseFuture, now)
		if err != nil || step > 0 {
			return true, err
		}
		if err := putDefinitions(tx, d); err != nil {
			return false, err
		}
		return false, tx.PutProcess(ProcessRow{ID: d.Process, Version: d.Version, HeartbeatAt: now, Host: d.Host, Program: d.Program})
	})
}

// BindRegistry gives a ledger that no registry has to a registry. It returns
// ErrOtherRegistry if another registry has it.
func (l *Ledger) BindRegistry(ctx context.Context, name string) error {
	return l.rows.Write(ctx, "look whose ledger it is", func(tx Tx) error { return checkRegistry(tx.BindRegistry(name), name) })
}

func checkRegistry(registryFuture Future[string], name string) error {
	bound, err := registryFuture.Get()
	if err == nil && bound != name {
		return fmt.Errorf("%w: it is that of %q, and this is %q: give each registry a ledger of its own", ErrOtherRegistry, bound, name)
	}
	return err
}

// declareBatch is the number of definitions that an engine writes at once.
const declareBatch = 1000

func putDefinitions(tx Tx, d Declaration) error {
	batch := make([]Definition, 0, declareBatch)
	for def := range d.Definitions {
		if batch = append(batch, def); len(batch) < declareBatch {
			continue
		}
		if err := tx.PutDefinitions(d.Version, batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	if len(batch) == 0 {
		return nil
	}
	return tx.PutDefinitions(d.Version, batch)
}

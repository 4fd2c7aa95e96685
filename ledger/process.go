package ledger

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Process is an executor that works, or worked, on the ledger, as listings show it.
type Process struct {
	ProcessRow
	Alive       bool // see ProcessTTL
	Definitions int  // how many it declares
	Running     int  // runs leased to it
}

// ProcessRow is a process as it is stored. It is written when the process declares its definitions,
// and its heartbeat while it lives.
type ProcessRow struct {
	ID          string
	Version     string // of the set of definitions that it declares
	HeartbeatAt time.Time
	Host        string
	Program     string // the version of the program
}

// HeartbeatReply is the answer to a heartbeat. If LiveVersions differs from the last
// reply's, the assignments may have changed.
type HeartbeatReply struct {
	Now          time.Time
	LiveVersions []string // versions that live processes declare, sorted
	// Processes counts the live processes, this one included. If it is 1, the process may
	// lease further ahead, since no other process waits for the runs.
	Processes int
	// HeldTargets are the targets that nothing is sent to now: see PauseHold.
	HeldTargets []string
}

// ProcessTTL is the time after its last heartbeat in which a process is considered alive. A later
// heartbeat makes it alive again. A heartbeat that is ahead of the clock counts as one of
// the same distance behind it: no process is alive for longer than 2 * ProcessTTL without
// another heartbeat, whatever the clock said.
const ProcessTTL = 30 * time.Second

// alive reports whether the process counts as alive at a time. See ProcessTTL.
func (p *ProcessRow) alive(now time.Time) bool {
	return now.Sub(p.HeartbeatAt).Abs() <= ProcessTTL
}

// liveVersions returns the versions that live processes declare, sorted, and how many of these
// processes there are.
func liveVersions(list []ProcessRow, now time.Time) (versions []string, processes int) {
	for i := range list {
		if list[i].alive(now) {
			versions = append(versions, list[i].Version)
		}
	}
	return sortedSet(versions), len(versions)
}

// Heartbeat renews the process's heartbeat. Call it well within ProcessTTL. It returns
// ErrNotFound if the ledger forgot the process: declare it again.
func (l *Ledger) Heartbeat(ctx context.Context, process string) (HeartbeatReply, error) {
	var reply HeartbeatReply
	err := l.writeAfterClockStep(ctx, "heartbeat of process "+process, func(tx Tx) (stepped bool, err error) {
		processesFuture, pausesFuture := tx.Processes(), tx.Pauses(time.Time{})
		if reply.Now, err = tx.Now(); err != nil {
			return false, err
		}
		list, err := processesFuture.Get()
		if err != nil || ClockStep(latestHeartbeat(list), reply.Now) > 0 {
			return true, err
		}
		i := slices.IndexFunc(list, func(p ProcessRow) bool { return p.ID == process })
		if i < 0 {
			return false, ErrNotFound
		}
		list[i].HeartbeatAt = reply.Now
		reply.LiveVersions, reply.Processes = liveVersions(list, reply.Now)
		all, err := pausesFuture.Get()
		if err != nil {
			return false, err
		}
		reply.HeldTargets = pauses(all).heldTargets(reply.Now)
		return false, tx.SetHeartbeats([]string{process}, reply.Now)
	})
	return reply, err
}

// Deregister deletes the process's heartbeat on graceful shutdown. It does nothing for an
// unknown process.
func (l *Ledger) Deregister(ctx context.Context, process string) error {
	return l.rows.Write(ctx, "deregister process "+process, func(tx Tx) error { return tx.DeleteProcess(process) })
}

// Processes lists the processes that the ledger knows, by ID. See ProcessRetention.
func (l *Ledger) Processes(ctx context.Context) ([]Process, error) {
	return read(ctx, l, "list processes", func(tx Tx) (list []Process, err error) {
		processesFuture, runningFuture, definitionsFuture := tx.Processes(), tx.CountRunning(), tx.CountDefinitions()
		now, err := tx.Now()
		if err != nil {
			return nil, err
		}
		rows, err := processesFuture.Get()
		if err != nil {
			return nil, err
		}
		running, err := runningFuture.Get()
		if err != nil {
			return nil, err
		}
		definitions, err := definitionsFuture.Get()
		for _, p := range rows {
			list = append(list, Process{p, p.alive(now), definitions[p.Version], running[p.ID]})
		}
		return list, err
	})
}

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

// checkRegistry returns ErrOtherRegistry if the ledger belongs to a registry of another name.
func checkRegistry(registryFuture Future[string], name string) error {
	bound, err := registryFuture.Get()
	if err == nil && bound != name {
		return fmt.Errorf("%w: it is that of %q, and this is %q: give each registry a ledger of its own", ErrOtherRegistry, bound, name)
	}
	return err
}

// declareBatch is the number of definitions that an engine writes at once.
const declareBatch = 1000

// putDefinitions writes the definitions of a declaration in batches.
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

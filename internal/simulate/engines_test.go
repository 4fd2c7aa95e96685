package simulate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/ledger/sqlite"
)

// engines are where simulations have their ledger.
var engines = []struct {
	name    string
	oneOf   int // so many simulations: a database takes longer
	prepare func(*testing.T) opener
}{
	{"memory", 1, func(*testing.T) opener { return inMemory }},
	{"sqlite", 10, onSQLite},
	{"postgres", 25, onPostgres},
}

// opener opens the ledger of a simulation, in the simulation's bubble.
type opener func(context.Context, func() time.Time) (ledger.Store, error)

func inMemory(_ context.Context, now func() time.Time) (ledger.Store, error) {
	return memory.WithClock(now, ledger.SlotScanBatch(2)), nil
}

// onSQLite returns an opener of ledgers in files, in memory where the machine has such a
// place.
func onSQLite(t *testing.T) opener {
	dir, err := os.MkdirTemp("/dev/shm", "cronce-simulate-") //nolint:usetesting // t.TempDir is on a disk
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return func(ctx context.Context, now func() time.Time) (ledger.Store, error) {
		return sqlite.Open(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", lifeNumber.Add(1))), sqlite.Options{Now: now})
	}
}

var lifeNumber atomic.Int64

// history is all that a simulation left: each row, attempt, incident, effect and call with its
// times.
func history(e proof.Evidence) (lines []string) {
	add := func(kind string, of any) { lines = append(lines, fmt.Sprintf("%s %+v", kind, of)) }
	for _, r := range e.Rows {
		add("row", r)
	}
	for _, list := range e.Attempts {
		for _, a := range list {
			a.StartedAt, a.FinishedAt = time.Time{}, time.Time{} // by the clock of its process
			add("attempt", a)
		}
	}
	for _, i := range e.Incidents {
		add("incident", i)
	}
	for _, f := range e.Effects {
		add("effect", f)
	}
	for _, r := range e.Requests {
		r.Sent = r.Sent.Truncate(time.Second) // by the clock of its process
		add("call", r)
	}
	slices.Sort(lines) // a batch is purged in any order
	return lines
}

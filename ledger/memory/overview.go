package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

func cell(r *record) ledger.RunSummary {
	return ledger.RunSummary{
		RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason,
		Replayed: r.Replayed, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
}

// Processes lists the processes by ID.
func (l *Ledger) Processes(ctx context.Context) ([]ledger.Process, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	running := map[string]int{}
	for _, r := range l.runs {
		if r.State == ledger.Running {
			running[r.LeasedBy]++
		}
	}
	var list []ledger.Process
	for _, id := range slices.Sorted(maps.Keys(l.processes)) {
		p := l.processes[id]
		list = append(list, ledger.Process{
			ID: id, Version: p.version, HeartbeatAt: p.seen, Alive: ledger.IsAlive(p.seen, now),
			Definitions: len(l.versions[p.version]), Running: running[id], Host: p.host, Program: p.program,
		})
	}
	return list, nil
}

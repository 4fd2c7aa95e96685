package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// declaration is when a definition was first declared.
type declaration struct {
	order int
	at    time.Time
}

// BindRegistry stores the name of the registry that has the ledger, unless one is stored.
func (t *tx) BindRegistry(name string) ledger.Future[string] {
	if t.l.registry == "" {
		setValue(t, &t.l.registry, name)
	}
	return ledger.ResolvedFuture(t.l.registry, nil)
}

func (t *tx) Processes() ledger.Future[[]ledger.ProcessRow] {
	return ledger.ResolvedFuture(filteredValues(t.l.processes, func(ledger.ProcessRow) bool { return true }), nil)
}

func (t *tx) PutProcess(p ledger.ProcessRow) error {
	putEntry(t, t.l.processes, p.ID, p)
	return nil
}

func (t *tx) SetHeartbeats(ids []string, at time.Time) error {
	for _, id := range ids {
		if p, known := t.l.processes[id]; known {
			p.HeartbeatAt = at
			putEntry(t, t.l.processes, id, p)
		}
	}
	return nil
}

func (t *tx) DeleteProcess(id string) error {
	deleteEntry(t, t.l.processes, id)
	return nil
}

func (t *tx) PutDefinitions(version string, list []ledger.Definition) error {
	if t.l.versions[version] == nil {
		putEntry(t, t.l.versions, version, map[string]string{})
	}
	for _, d := range list {
		if t.l.declared[d.JobID] == nil {
			putEntry(t, t.l.declared, d.JobID, map[string]declaration{})
		}
		if _, known := t.l.declared[d.JobID][d.Hash]; !known {
			t.l.lastDeclaration++
			putEntry(t, t.l.declared[d.JobID], d.Hash, declaration{t.l.lastDeclaration, t.now})
			putEntry(t, t.l.bodies, d.JobID+" "+d.Hash, d.Body)
		}
		putEntry(t, t.l.versions[version], d.JobID, d.Hash)
	}
	return nil
}

func (t *tx) Declared(version, after string, limit int) ledger.Future[[]ledger.JobDefinition] {
	var list []ledger.JobDefinition
	for _, id := range slices.Sorted(maps.Keys(t.l.versions[version])) {
		if id > after && len(list) < limit {
			hash := t.l.versions[version][id]
			list = append(list, ledger.JobDefinition{JobID: id, Hash: hash, Order: int64(t.l.declared[id][hash].order)})
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

func (t *tx) CountDefinitions() ledger.Future[map[string]int] {
	counts := map[string]int{}
	for _, p := range t.l.processes {
		counts[p.Version] = len(t.l.versions[p.Version])
	}
	return ledger.ResolvedFuture(counts, nil)
}

func (t *tx) CountRunning() ledger.Future[map[string]int] {
	counts := map[string]int{}
	for _, r := range t.l.open {
		if r.State == ledger.Running {
			counts[r.LeasedBy]++
		}
	}
	return ledger.ResolvedFuture(counts, nil)
}

func (t *tx) Bodies(list []ledger.Definition) ledger.Future[map[string][]byte] {
	bodies := make(map[string][]byte, len(list))
	for _, d := range list {
		if body, known := t.l.bodies[d.JobID+" "+d.Hash]; known {
			bodies[d.JobID] = body
		}
	}
	return ledger.ResolvedFuture(bodies, nil)
}

// LockAll does nothing: the whole ledger is locked.
func (t *tx) LockAll() error { return nil }

func (t *tx) LastLease() ledger.Future[time.Time] {
	var last time.Time
	for _, r := range t.l.open {
		if r.LeasedAt.After(last) {
			last = r.LeasedAt
		}
	}
	return ledger.ResolvedFuture(last, nil)
}

func (t *tx) JobsAfter(after string, limit int) ledger.Future[[]ledger.JobRow] {
	list := filteredValues(t.l.jobs, func(j ledger.JobRow) bool { return j.JobID > after })
	return ledger.ResolvedFuture(withoutJobBodies(list[:min(limit, len(list))]), nil)
}

func (t *tx) JobBodies(ids []string) ledger.Future[map[string][]byte] {
	bodies := map[string][]byte{}
	for _, id := range ids {
		if j := t.l.jobs[id]; j.Body != nil {
			bodies[id] = j.Body
		}
	}
	return ledger.ResolvedFuture(bodies, nil)
}

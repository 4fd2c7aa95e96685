package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// process is one that declared itself and has not deregistered.
type process struct {
	version string
	seen    time.Time // its last heartbeat
	host    string
	program string
}

// Declare registers a process and its definitions.
func (l *Ledger) Declare(ctx context.Context, d ledger.Declaration) error {
	now, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	if l.registry != "" && l.registry != d.Registry {
		return fmt.Errorf("%w: it is %q's, this is %q", ledger.ErrOtherRegistry, l.registry, d.Registry)
	}
	l.registry = d.Registry
	l.followClock(now, true)
	held := map[string]string{}
	for def := range d.Definitions {
		held[def.JobID] = def.Hash
		l.rememberDefinition(def, now)
	}
	l.versions[d.Version] = held
	l.processes[d.Process] = &process{version: d.Version, seen: now, host: d.Host, program: d.Program}
	return nil
}

// declaration is when a definition was first declared.
type declaration struct {
	order int
	at    time.Time
}

// rememberDefinition keeps a definition and when it was first declared.
func (l *Ledger) rememberDefinition(d ledger.Definition, now time.Time) {
	first := l.declared[d.JobID]
	if first == nil {
		first = map[string]declaration{}
		l.declared[d.JobID] = first
	}
	if _, known := first[d.Hash]; !known {
		l.lastDeclaration++
		first[d.Hash] = declaration{l.lastDeclaration, now}
		l.bodies[d.JobID+" "+d.Hash] = d.Body
	}
}

// Heartbeat renews the process's heartbeat. It returns ledger.ErrNotFound for an unknown
// process.
func (l *Ledger) Heartbeat(ctx context.Context, id string) (ledger.HeartbeatReply, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.HeartbeatReply{}, err
	}
	defer l.mu.Unlock()
	p := l.processes[id]
	if p == nil {
		return ledger.HeartbeatReply{}, fmt.Errorf("process %q: %w", id, ledger.ErrNotFound)
	}
	l.followClock(now, false)
	p.seen = now
	return ledger.HeartbeatReply{Now: now, LiveVersions: l.liveVersions(now), Processes: l.countAlive(now)}, nil
}

// countAlive counts the processes that are alive.
func (l *Ledger) countAlive(now time.Time) (n int) {
	for _, p := range l.processes {
		if ledger.IsAlive(p.seen, now) {
			n++
		}
	}
	return n
}

// Deregister deletes a process. It does nothing for an unknown process.
func (l *Ledger) Deregister(ctx context.Context, id string) error {
	if _, err := l.begin(ctx); err != nil {
		return err
	}
	defer l.mu.Unlock()
	delete(l.processes, id)
	return nil
}

// liveVersions returns the versions of the processes that are alive, sorted.
func (l *Ledger) liveVersions(now time.Time) []string {
	alive := map[string]bool{}
	for _, p := range l.processes {
		if ledger.IsAlive(p.seen, now) {
			alive[p.version] = true
		}
	}
	return slices.Sorted(maps.Keys(alive))
}

// desired returns the hash of the desired definition of each job.
func (l *Ledger) desired(now time.Time) map[string]string {
	desired := map[string]string{}
	for _, version := range l.liveVersions(now) {
		for id, hash := range l.versions[version] {
			if best, ok := desired[id]; !ok || l.declared[id][hash].order > l.declared[id][best].order {
				desired[id] = hash
			}
		}
	}
	return desired
}

// Assignments lists the jobs by ID. It first starts a revision of each job that has none
// and whose desired definition the version has. See ledger.JobAssignment.
func (l *Ledger) Assignments(ctx context.Context, version string) ([]ledger.JobAssignment, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	desired := l.desired(now)
	for id, hash := range desired {
		if j := l.job(id); j.ended() && l.versions[version][id] == hash {
			l.beginRevision(j, hash, now)
		}
	}
	var list []ledger.JobAssignment
	for id, j := range l.jobs {
		s := ledger.JobAssignment{Position: j.Position, Desired: desired[id]}
		if !j.ended() {
			s.Hash = j.Hash
		}
		if s.Hash != s.Desired {
			s.Body = j.Body
		}
		if s.Hash == "" && s.Desired == "" {
			continue
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b ledger.JobAssignment) int { return strings.Compare(a.JobID, b.JobID) })
	return list, nil
}

// beginRevision begins a revision of a job that has none: nothing before now is due.
func (l *Ledger) beginRevision(j *job, hash string, now time.Time) {
	if now.After(j.Watermark) {
		j.Watermark = now
	}
	j.stored, j.EndedAt = true, time.Time{}
	j.Revision++
	j.Hash, j.Body = hash, l.bodies[j.JobID+" "+hash]
	j.events = append(j.events, ledger.Event{JobID: j.JobID, At: j.Watermark, Kind: ledger.EventRevisionBegun})
}

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

// process is one that declared itself and has not retired.
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
	held := map[string]string{}
	for def := range d.Definitions {
		held[def.JobID] = def.Hash
		l.learn(def, now)
	}
	l.versions[d.Version] = held
	l.processes[d.Process] = &process{version: d.Version, seen: now, host: d.Host, program: d.Program}
	return nil
}

// declared is when a definition was first declared.
type declared struct {
	order int
	at    time.Time
}

// learn remembers a definition and when it was first declared.
func (l *Ledger) learn(d ledger.Definition, now time.Time) {
	first := l.declared[d.JobID]
	if first == nil {
		first = map[string]declared{}
		l.declared[d.JobID] = first
	}
	if _, known := first[d.Hash]; !known {
		l.learned++
		first[d.Hash] = declared{l.learned, now}
		l.bodies[d.JobID+" "+d.Hash] = d.Body
	}
}

// Heartbeat renews a process's heartbeat.
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
	p.seen = now
	return ledger.HeartbeatReply{Now: now, Living: l.living(now), Processes: l.alive(now)}, nil
}

// alive counts the processes that are alive.
func (l *Ledger) alive(now time.Time) (n int) {
	for _, p := range l.processes {
		if p.lives(now) {
			n++
		}
	}
	return n
}

// Retire forgets a process.
func (l *Ledger) Retire(ctx context.Context, id string) error {
	if _, err := l.begin(ctx); err != nil {
		return err
	}
	defer l.mu.Unlock()
	delete(l.processes, id)
	return nil
}

func (p *process) lives(now time.Time) bool { return now.Sub(p.seen) <= ledger.ProcessTTL }

// living are the versions of the processes that are alive, sorted.
func (l *Ledger) living(now time.Time) []string {
	alive := map[string]bool{}
	for _, p := range l.processes {
		if p.lives(now) {
			alive[p.version] = true
		}
	}
	return slices.Sorted(maps.Keys(alive))
}

// winners is each job's winning definition.
func (l *Ledger) winners(now time.Time) map[string]string {
	won := map[string]string{}
	for _, version := range l.living(now) {
		for id, hash := range l.versions[version] {
			if best, ok := won[id]; !ok || l.declared[id][hash].order > l.declared[id][best].order {
				won[id] = hash
			}
		}
	}
	return won
}

// Assignments lists the jobs, and begins those that have no revision and whose
// winner the version holds.
func (l *Ledger) Assignments(ctx context.Context, version string) ([]ledger.JobAssignment, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	won := l.winners(now)
	for id, hash := range won {
		if j := l.row(id); j.hash == "" && l.versions[version][id] == hash {
			l.found(j, hash, now)
		}
	}
	var list []ledger.JobAssignment
	for id, j := range l.jobs {
		if j.hash == "" && won[id] == "" {
			continue
		}
		s := ledger.JobAssignment{Position: j.Position, Hash: j.hash, Desired: won[id]}
		if s.Hash != s.Desired {
			s.Body = j.body
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b ledger.JobAssignment) int { return strings.Compare(a.JobID, b.JobID) })
	return list, nil
}

// found begins a revision of a job that has none: nothing before now is due.
func (l *Ledger) found(j *job, hash string, now time.Time) {
	if now.After(j.Watermark) {
		j.Watermark = now
	}
	l.start(j, hash, l.bodies[j.JobID+" "+hash])
}

// turn ends a job's revision at its watermark and starts the next, if there is one.
func (l *Ledger) turn(j *job, next ledger.Definition, now time.Time) {
	j.events = append(j.events, ledger.Event{JobID: j.JobID, At: j.Watermark, Kind: ledger.RevisionEnded})
	j.hash, j.body, j.endedAt = "", nil, now
	if next.Hash != "" {
		l.start(j, next.Hash, next.Body)
	}
}

func (l *Ledger) start(j *job, hash string, body []byte) {
	j.Revision++
	j.hash, j.body = hash, body
	j.events = append(j.events, ledger.Event{JobID: j.JobID, At: j.Watermark, Kind: ledger.RevisionBegun})
}

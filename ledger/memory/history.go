package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// PurgeHistory deletes a batch of old rows that are not runs. See ledger.HistoryPurge.
func (l *Ledger) PurgeHistory(ctx context.Context, p ledger.HistoryPurge) (ledger.PurgedHistory, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.PurgedHistory{}, err
	}
	defer l.mu.Unlock()
	batch := p.BatchSize()
	if p.DryRun {
		batch = len(l.audit) + len(l.incidents) + len(l.processes) + l.known()
	}
	s := sweep{Ledger: l, HistoryPurge: p, now: now, batch: batch}
	got := ledger.PurgedHistory{Audit: s.acts(), Events: s.events(), Incidents: s.closed(), Processes: s.dead(), VersionEntries: s.declared()}
	if p.DryRun || got.VersionEntries < batch {
		got.Definitions = s.definitions()
	}
	got.More = !p.DryRun && got.Full(batch)
	return got, nil
}

// known bounds the number of rows of any kind.
func (l *Ledger) known() int {
	n := len(l.bodies)
	for _, held := range l.versions {
		n += len(held)
	}
	for _, j := range l.jobs {
		n += len(j.events)
	}
	return n
}

// sweep is one PurgeHistory.
type sweep struct {
	*Ledger
	ledger.HistoryPurge
	now   time.Time
	batch int
}

func (s sweep) past(t time.Time, keep time.Duration) bool { return !t.Add(keep).After(s.now) }

func (s sweep) acts() int {
	n := 0
	for n < min(s.batch, len(s.audit)) && s.past(s.audit[n].At, s.AuditRetention) {
		n++
	}
	if !s.DryRun {
		s.audit = slices.Delete(s.audit, 0, n)
	}
	return n
}

func (s sweep) events() (n int) {
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		kept := []ledger.Event{}
		for _, e := range s.jobs[id].events {
			if n < s.batch && s.past(e.At, s.Retention) {
				n++
			} else {
				kept = append(kept, e)
			}
		}
		if !s.DryRun {
			s.jobs[id].events = kept
		}
	}
	return n
}

func (s sweep) closed() (n int) {
	kept := []*ledger.Incident{}
	for _, i := range s.incidents {
		if n < s.batch && !i.Open() && s.past(i.ClosedAt, s.Retention) {
			n++
		} else {
			kept = append(kept, i)
		}
	}
	if !s.DryRun {
		s.Ledger.incidents = kept
	}
	return n
}

func (s sweep) dead() (n int) {
	for id, p := range s.processes {
		if n < s.batch && s.past(p.HeartbeatAt, ledger.ProcessRetention) {
			n++
			if !s.DryRun {
				delete(s.processes, id)
			}
		}
	}
	return n
}

// declared forgets what the versions that no process declares consist of.
func (s sweep) declared() (n int) {
	used := s.used()
	for version, held := range s.versions {
		if used[version] {
			continue
		}
		for id := range held {
			if n == s.batch {
				return n
			}
			n++
			if !s.DryRun {
				delete(held, id)
			}
		}
		if !s.DryRun {
			delete(s.versions, version)
		}
	}
	return n
}

// used are the versions that processes declare.
func (s sweep) used() map[string]bool {
	used := map[string]bool{}
	for _, p := range s.processes {
		used[p.Version] = true
	}
	return used
}

func (s sweep) definitions() (n int) {
	needed := map[string]bool{}
	for version := range s.used() {
		for id, hash := range s.versions[version] {
			needed[id+" "+hash] = true
		}
	}
	for id, j := range s.jobs {
		if !j.ended() {
			needed[id+" "+j.Hash] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.bodies)) {
		id, hash, _ := strings.Cut(key, " ")
		if n == s.batch || needed[key] || !s.superseded(id, hash) {
			continue
		}
		n++
		if !s.DryRun {
			delete(s.bodies, key)
			delete(s.Ledger.declared[id], hash)
		}
	}
	return n
}

// superseded reports whether a later definition of the job, or its end, is past
// the retention.
func (s sweep) superseded(id, hash string) bool {
	own := s.Ledger.declared[id][hash]
	var next *declaration
	for _, d := range s.Ledger.declared[id] {
		if d.order > own.order && (next == nil || d.order < next.order) {
			next = &d
		}
	}
	switch j := s.jobs[id]; {
	case next != nil:
		return s.past(next.at, s.Retention)
	case j == nil, j.Revision == 0:
		return s.past(own.at, s.Retention)
	default:
		return j.ended() && s.past(j.EndedAt, s.Retention)
	}
}

package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// LockDeclarations does nothing: the whole ledger is locked.
func (t *tx) LockDeclarations() error { return nil }

// sweep counts up to limit items, and takes them out if it is told to: a purge counts with the
// conditions by which it deletes.
type sweep struct {
	*tx
	n, limit int
	del      bool
}

// count counts one old item, and reports whether the limit leaves it to the sweep.
func (s *sweep) count() bool {
	full := s.limit > 0 && s.n >= s.limit
	if !full {
		s.n++
	}
	return !full
}

// sweepList goes through a list, in its order.
func sweepList[T any](s *sweep, list *[]T, old func(T) bool) {
	before := *list
	kept := make([]T, 0, len(before))
	for _, item := range before {
		if !old(item) || !s.count() {
			kept = append(kept, item)
		}
	}
	if s.del {
		setValue(s.tx, list, kept)
	}
}

// sweepMap goes through a map in the order of its keys, so that a simulation repeats itself.
func sweepMap[K cmp.Ordered, V any](s *sweep, m map[K]V, old func(K, V) bool) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if value := m[key]; old(key, value) && s.count() && s.del {
			deleteEntry(s.tx, m, key)
		}
	}
}

func (t *tx) OldRows(q ledger.OldRows, limit int, del bool) ledger.Future[int] {
	s := &sweep{tx: t, limit: limit, del: del}
	old := func(at time.Time) bool { return !at.After(q.Until) }
	switch q.Kind {
	case ledger.AuditRows:
		sweepList(s, &t.l.audit, func(a ledger.Audit) bool { return old(a.At) })
	case ledger.EventRows:
		sweepList(s, &t.l.events, func(e ledger.Event) bool { return old(e.At) })
	case ledger.PauseRows:
		sweepMap(s, t.l.pauses, func(_ int64, p ledger.Pause) bool { return old(p.Until) })
	case ledger.IncidentRows:
		sweepMap(s, t.l.incidents, func(_ int64, i ledger.Incident) bool { return !i.Open() && old(i.ClosedAt) })
	case ledger.ExcerptRows:
		sweepMap(s, t.l.excerpts, func(_ string, e ledger.Excerpt) bool { return old(e.KeepUntil) })
	case ledger.ProcessRows:
		sweepMap(s, t.l.processes, func(_ string, p ledger.ProcessRow) bool { return old(p.HeartbeatAt) })
	case ledger.ScheduleRows:
		sweepMap(s, t.l.schedules, func(_ string, r ledger.ScheduleRow) bool {
			return !r.EndedAt.IsZero() && old(r.EndedAt) && q.Of.Has(r.JobID)
		})
	}
	return ledger.ResolvedFuture(s.n, nil)
}

func (t *tx) OtherVersionEntries(versions []string, limit int, del bool) ledger.Future[int] {
	s := &sweep{tx: t, limit: limit, del: del}
	for _, version := range slices.Sorted(maps.Keys(t.l.versions)) {
		if !slices.Contains(versions, version) {
			sweepMap(s, t.l.versions[version], func(string, string) bool { return true })
		}
	}
	return ledger.ResolvedFuture(s.n, nil)
}

func (t *tx) OldDefinitions(until time.Time, versions []string, after ledger.DefinitionKey, limit int) ledger.Future[[]ledger.OldDefinition] {
	var list []ledger.OldDefinition
	for _, id := range slices.Sorted(maps.Keys(t.l.declared)) {
		for _, hash := range slices.Sorted(maps.Keys(t.l.declared[id])) {
			if id < after.JobID || id == after.JobID && hash <= after.Hash || len(list) == limit {
				continue
			}
			used := slices.ContainsFunc(versions, func(v string) bool { return t.l.versions[v][id] == hash })
			if own := t.l.declared[id][hash]; used || own.at.After(until) {
				continue
			}
			d := ledger.OldDefinition{DefinitionKey: ledger.DefinitionKey{JobID: id, Hash: hash}, NextAt: t.l.nextDeclaration(id, hash)}
			j := t.l.jobs[id]
			d.Revision, d.Current, d.EndedAt = j.Revision, j.Hash, j.EndedAt
			list = append(list, d)
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

// nextDeclaration returns when the job's next definition was first declared.
func (l *Ledger) nextDeclaration(id, hash string) time.Time {
	var next declaration
	for _, d := range l.declared[id] {
		if d.order > l.declared[id][hash].order && (next.order == 0 || d.order < next.order) {
			next = d
		}
	}
	return next.at
}

func (t *tx) DeleteDefinitions(list []ledger.DefinitionKey) error {
	s := &sweep{tx: t, del: true}
	for _, k := range list {
		sweepMap(s, t.l.declared[k.JobID], func(hash string, _ declaration) bool { return hash == k.Hash })
		sweepMap(s, t.l.bodies, func(key string, _ []byte) bool { return key == k.JobID+" "+k.Hash })
	}
	return nil
}

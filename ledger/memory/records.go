package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// record is a run's row and what the engine keeps with it.
type record struct {
	ledger.Row
	changed  uint64 // the position of its last change
	attempts []ledger.Attempt
}

// addRecord adds a record to the runs and to the indexes of what it is now. Its fields do not change
// until removeRecord: an index would keep a record that is no longer of it.
func (l *Ledger) addRecord(r *record) {
	l.runs[r.ID] = r
	if r.State.Finished() {
		return
	}
	l.open[r.ID] = r
	if r.HasSlot && r.Pace == 0 {
		l.slots[r.JobID] = r
	}
}

// removeRecord takes a record out.
func (l *Ledger) removeRecord(r *record) {
	delete(l.runs, r.ID)
	delete(l.open, r.ID)
	if l.slots[r.JobID] == r {
		delete(l.slots, r.JobID)
	}
}

// filtered returns the records that fit, in an order. It looks at every one: the ledgers of tests are
// small, and an index for each order would be a second statement of each rule.
func filtered(records map[string]*record, order func(a, b *record) int, match func(*record) bool) (found []*record) {
	for _, r := range records {
		if match(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, order)
	return found
}

// due returns the unfinished records that do not wait for a slot and are due by a time, the
// earliest first.
func (l *Ledger) due(by time.Time) []*record {
	return filtered(l.open, byDue, func(r *record) bool { return !r.Waiting && !r.DueAt().After(by) })
}

// The orders of records. None leaves two equal, so that a simulation repeats itself.
func older(a, b *record) int {
	return cmp.Or(a.ScheduledAt.Compare(b.ScheduledAt), cmp.Compare(a.ID, b.ID))
}

func newer(a, b *record) int { return older(b, a) }

func byDue(a, b *record) int { return cmp.Or(a.DueAt().Compare(b.DueAt()), older(a, b)) }

func byLate(a, b *record) int { return cmp.Or(a.LateAt.Compare(b.LateAt), cmp.Compare(a.ID, b.ID)) }

// setValue writes a value. This, putEntry and deleteEntry are the only writes beside those of
// records, so that each can be taken back.
func setValue[T any](t *tx, at *T, value T) {
	before := *at
	t.undo = append(t.undo, func() { *at = before })
	*at = value
}

// putEntry writes an entry of a map.
func putEntry[K comparable, V any](t *tx, m map[K]V, key K, value V) {
	before, known := m[key]
	t.undo = append(t.undo, func() {
		m[key] = before
		if !known {
			delete(m, key)
		}
	})
	m[key] = value
}

// deleteEntry deletes an entry of a map.
func deleteEntry[K comparable, V any](t *tx, m map[K]V, key K) {
	if before, known := m[key]; known {
		t.undo = append(t.undo, func() { m[key] = before })
		delete(m, key)
	}
}

// valuesOf returns the values of those of the keys that exist, by key.
func valuesOf[V any](m map[string]V, keys []string) (list []V) {
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if v, known := m[key]; known {
			list = append(list, v)
		}
	}
	return list
}

// filteredValues returns the values of a map that fit, by key.
func filteredValues[K cmp.Ordered, V any](m map[K]V, match func(V) bool) (list []V) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if v := m[key]; match(v) {
			list = append(list, v)
		}
	}
	return list
}

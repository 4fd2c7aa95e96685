package ledger

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"
)

// ruleRows are the rows of an engine as the rules see them: each transaction is a ruleTx. A rule
// cannot forget to make an hour stale, since it has no other way to write.
type ruleRows struct {
	Rows
	scanner *slotScanner
}

// Write runs f, and makes the counts stale of the hours whose runs it changes, in the same
// transaction: this is the only place that decides which. A purge changes no counts: see
// RollUp. Once it is committed, it notes the jobs whose slots it may have given back.
func (r ruleRows) Write(ctx context.Context, name string, f func(Tx) error) error {
	var t *ruleTx
	err := r.Rows.Write(ctx, name, func(tx Tx) error {
		t = &ruleTx{Tx: tx}
		if err := f(t); err != nil {
			return err
		}
		return t.markStaleHours()
	})
	if t != nil && len(t.hints) > 0 { // also after an error, which may be that of a commit
		r.scanner.hint(t.hints)
	}
	return err
}

// Read runs f in a reading transaction. See [Rows.Read].
func (r ruleRows) Read(ctx context.Context, name string, f func(Tx) error) error {
	return r.Rows.Read(ctx, name, func(tx Tx) error { return f(&ruleTx{Tx: tx}) })
}

// ruleTx notes which runs a transaction writes, and keeps the schedules that were read as
// jobs.
type ruleTx struct {
	Tx
	ids       []string
	hints     []string // jobs for the slotScanner
	schedules map[string]*ScheduleRow
}

// inTallies are the fields that a Tally depends on.
const inTallies = ColState | ColCall | ColPlan | ColCount | ColStart | ColFinished

// note notes the runs of changes that counts depend on, and the jobs of those that give their slots
// back.
func (t *ruleTx) note(changes []RowChange) {
	for i := range changes {
		if changes[i].Set&inTallies != 0 {
			t.ids = append(t.ids, changes[i].Row.ID)
		}
		if r := changes[i].Row; changes[i].Set&ColSlot != 0 && !r.HasSlot {
			t.hints = append(t.hints, JobOf(r.ID))
		}
	}
}

// Update notes the runs and writes them.
func (t *ruleTx) Update(changes []RowChange) error {
	t.note(changes)
	return t.Tx.Update(changes)
}

// UpdateFenced notes the runs, also those that it then does not write, and writes them.
func (t *ruleTx) UpdateFenced(changes []RowChange) Future[[]bool] {
	t.note(changes)
	return t.Tx.UpdateFenced(changes)
}

// Insert notes the runs and writes them.
func (t *ruleTx) Insert(rows []Row) Future[[]bool] {
	for i := range rows {
		t.ids = append(t.ids, rows[i].ID)
		if n := len(t.hints); rows[i].Waiting && (n == 0 || t.hints[n-1] != rows[i].JobID) { // a backfill has many of one job
			t.hints = append(t.hints, rows[i].JobID)
		}
	}
	return t.Tx.Insert(rows)
}

// Delete notes the runs and deletes them.
func (t *ruleTx) Delete(ids []string) error {
	t.ids = append(t.ids, ids...)
	return t.Tx.Delete(ids)
}

// markStaleHours makes the hours of the runs stale that are over. The hour of a run that is made
// now is not, and costs no statement.
func (t *ruleTx) markStaleHours() error {
	if len(t.ids) == 0 {
		return nil
	}
	now, err := t.Now()
	if err != nil {
		return err
	}
	keys := hourKeys(t.ids, hourOf(now.Add(-HoursKept)), hourOf(now.Add(-changesAfter)))
	if len(keys) == 0 {
		return nil
	}
	return t.Tx.FlagHours(keys, HourStale)
}

// hoursOfRuns returns the hours of runs, in order, each once.
func hoursOfRuns(runIDs []string) []HourKey {
	return hourKeys(runIDs, time.Time{}, time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC))
}

// hourKeys returns the hours in [from, to) of runs, in order, each once. It compares the
// times in their IDs before it parses them.
func hourKeys(runIDs []string, from, to time.Time) (keys []HourKey) {
	first, end := secondText(from), secondText(to)
	for _, id := range runIDs {
		job, at, _ := cutID(id)
		if IsMember(id) { // hours count their parents
			continue
		}
		if len(at) < len(end) || at < first || at >= end {
			continue
		}
		if start, err := time.Parse(time.RFC3339, at[:len(end)]); err == nil {
			keys = append(keys, HourKey{hourOf(start), RegistryJobID(job)})
		}
	}
	sort.Slice(keys, func(i, k int) bool {
		return cmp.Or(keys[i].Hour.Compare(keys[k].Hour), cmp.Compare(keys[i].JobID, keys[k].JobID)) < 0
	})
	return slices.Compact(keys)
}

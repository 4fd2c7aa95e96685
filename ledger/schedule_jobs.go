package ledger

// The rules see schedules made at run time as jobs, where a rule has the ID of one: each rule
// that locks, pauses or purges a job does so with a schedule.

import (
	"fmt"
	"slices"
	"sort"
)

// LockJobs locks the jobs first, then the schedules.
func (t *ruleTx) LockJobs(ids []string) Future[[]JobRow] {
	keyed, others := partition(ids, func(id string) bool { return TemplateOf(id) != "" })
	if len(keyed) == 0 {
		return t.Tx.LockJobs(ids)
	}
	var jobsFuture Future[[]JobRow]
	if len(others) > 0 {
		jobsFuture = t.Tx.LockJobs(others)
	}
	rowsFuture := t.LockSchedules(keyed)
	return LazyFuture(func() ([]JobRow, error) {
		list, err := jobsFuture.Get()
		if err != nil {
			return nil, err
		}
		rows, err := rowsFuture.Get()
		if t.schedules == nil {
			t.schedules = make(map[string]*ScheduleRow, len(rows))
		}
		for i := range rows {
			list = append(list, rows[i].job())
			t.schedules[rows[i].JobID] = &rows[i]
		}
		sort.Slice(list, func(i, k int) bool { return list[i].JobID < list[k].JobID })
		return list, err
	})
}

// PutJobs writes changes of jobs, and the pauses of schedules. What is purged of a schedule
// is noted for its whole template: there may be very many schedules.
func (t *ruleTx) PutJobs(changes []JobChange) error {
	keyed, others := partition(changes, func(c JobChange) bool { return TemplateOf(c.JobID) != "" })
	if len(others) > 0 || len(keyed) == 0 {
		if err := t.Tx.PutJobs(others); err != nil {
			return err
		}
	}
	var updates []ScheduleUpdate
	purged := map[string]JobChange{}
	for _, c := range keyed {
		row := t.schedules[c.JobID]
		if row == nil {
			return fmt.Errorf("schedule %s: %w", c.JobID, ErrNotFound)
		}
		if c.Set&JobColPause != 0 {
			row.PausedAt, row.PausedBy, row.PausedWhy = c.PausedAt, c.PausedBy, c.PausedWhy
			updates = append(updates, ScheduleUpdate{row, ScheduleColPause})
		}
		if name := TemplateOf(c.JobID); c.Set&JobColPurge != 0 && c.PurgedThrough.After(purged[name].PurgedThrough) {
			purged[name] = c
		}
	}
	if len(updates) > 0 {
		if err := t.UpdateSchedules(updates); err != nil {
			return err
		}
	}
	return t.raisePurged(purged)
}

// raisePurged raises the PurgedThrough of templates, by name, to the newest scheduled time that was
// purged of their schedules.
func (t *ruleTx) raisePurged(purged map[string]JobChange) error {
	names := make([]string, 0, len(purged))
	for name := range purged {
		names = append(names, name)
	}
	for _, name := range sortedSet(names) {
		row, err := t.LockTemplate(name).Get()
		if err != nil {
			return err
		}
		if through := purged[name].PurgedThrough; through.After(row.PurgedThrough) {
			row.PurgedThrough = through
			if err := t.PutTemplate(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// partition returns the items that a condition selects, and the others.
func partition[T any](list []T, match func(T) bool) (selected, others []T) {
	if !slices.ContainsFunc(list, match) {
		return nil, list
	}
	for _, item := range list {
		if match(item) {
			selected = append(selected, item)
		} else {
			others = append(others, item)
		}
	}
	return selected, others
}

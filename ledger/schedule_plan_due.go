package ledger

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// dueTemplates are the templates to plan next, in the order of their turns, with what the caller is
// told if there are none.
type dueTemplates struct {
	PlannedSchedules
	templates []string
	since     time.Time // no schedule is due before
}

// findDue finds the templates that have due schedules, of those that have no backlog. It is read
// without a lock: the batch looks again.
func (p SchedulePlanning) findDue(tx Tx, floor *dueFloor) (got dueTemplates, err error) {
	names := make([]string, len(p.Templates))
	for i, t := range p.Templates {
		names[i] = t.Template
	}
	got.since = floor.since(names)
	firstFuture, jobsFuture, pausesFuture := tx.FirstDue(names, got.since), tx.Jobs(names), tx.Pauses(time.Time{})
	templatesFuture := tx.Templates()
	if got.Now, err = tx.Now(); err != nil {
		return got, err
	}
	first, jobs, templates := take(&err, firstFuture), take(&err, jobsFuture), take(&err, templatesFuture)
	if err != nil {
		return got, err
	}
	floor.raise(first, got.Now)
	got.Moved = p.moved(jobs)
	got.Sweep = p.unswept(templates, got.Moved)
	names = slices.DeleteFunc(names, func(n string) bool { return first[n].IsZero() || slices.Contains(got.Moved, n) })
	if len(names) == 0 {
		return got, nil
	}
	sort.Slice(names, func(i, k int) bool { return first[names[i]].Before(first[names[k]]) })
	if got.NextAt = first[names[0]]; got.NextAt.After(got.Now) {
		return got, nil
	}
	backlog, due, err := backlogs(tx, got.Now, pausesFuture)
	names = slices.DeleteFunc(names, func(n string) bool { return backlog[n] >= maxBacklog })
	if len(names) == 0 || err != nil || due >= dueWindow {
		got.NextAt = time.Time{} // find them after the next poll
		return got, err
	}
	got.NextAt = first[names[0]]
	got.templates = slices.DeleteFunc(names, func(n string) bool { return first[n].After(got.Now) })
	sort.Slice(got.templates, func(i, k int) bool {
		a, b := got.templates[i], got.templates[k]
		if (a > p.After) != (b > p.After) {
			return a > p.After
		}
		return a < b
	})
	return got, nil
}

// backlogs returns how many runs of each template are due for a while, and how many are to
// be claimed before others: not those of held targets, which wait without being in the way.
func backlogs(tx Tx, now time.Time, pausesFuture Future[[]Pause]) (byTemplate map[string]int, due int, err error) {
	list, err := pausesFuture.Get()
	if err != nil {
		return nil, 0, err
	}
	by, held := now.Add(-backlogAfter), pauses(list).heldTargets(now)
	allFuture := tx.CountDue(by, dueWindow, nil)
	othersFuture := allFuture
	if len(held) > 0 {
		othersFuture = tx.CountDue(by, dueWindow, held)
	}
	if byTemplate, err = allFuture.Get(); err != nil {
		return nil, 0, err
	}
	rest, err := othersFuture.Get()
	for t, n := range rest {
		byTemplate[t] = max(byTemplate[t], n)
		due += n
	}
	return byTemplate, due, err
}

// unswept returns the sweep of the first template that has to be swept.
func (p SchedulePlanning) unswept(rows []TemplateRow, moved []string) ScheduleSweep {
	for _, t := range p.Templates {
		for _, row := range rows {
			if row.Name == t.Template && row.Swept != t.Hash && !slices.Contains(moved, row.Name) {
				return ScheduleSweep{TemplateRevision: t, Swept: row.Swept}
			}
		}
	}
	return ScheduleSweep{}
}

// moved returns the templates that have another revision, or have ended.
func (p SchedulePlanning) moved(jobs []JobRow) (moved []string) {
	for _, t := range p.Templates {
		if !slices.ContainsFunc(jobs, func(j JobRow) bool {
			return j.JobID == t.Template && j.Revision == t.Revision && j.EndedAt.IsZero()
		}) {
			moved = append(moved, t.Template)
		}
	}
	return moved
}

// dueFloor is the NextAt from which due schedules are read. The index by NextAt keeps what a NextAt
// was until it is vacuumed, and nothing is while a transaction reads an old state, as a backup
// does. Each read would return to all of that.
//
// No NextAt is before the time at which it is written. So only a transaction that takes longer
// than floorGrace can write one below the floor, and a full read finds it.
type dueFloor struct {
	mu        sync.Mutex
	templates string
	floor     time.Time // zero: the next read is a full one
	full      time.Time // when the last full read was, on the store's clock
}

const (
	floorGrace    = 10 * time.Second
	fullReadEvery = time.Minute
)

// since returns the NextAt from which the schedules of templates are read.
func (f *dueFloor) since(templates []string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if all := strings.Join(templates, " "); all != f.templates {
		f.templates, f.floor = all, time.Time{}
	}
	return clocks.Later(f.floor, time.Unix(0, 0))
}

// raise raises the floor after a read, which found the first NextAt of each template.
func (f *dueFloor) raise(first map[string]time.Time, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.floor.IsZero() {
		f.full = now
	}
	if now.Before(f.floor) || now.Sub(f.full) >= fullReadEvery { // the clock was set back, or it is time
		f.floor = time.Time{}
		return
	}
	next := now
	for _, at := range first {
		next = clocks.Earlier(next, at)
	}
	f.floor = clocks.Later(f.floor, next.Add(-floorGrace))
}

package ledger

import (
	"context"
	"time"
)

// HistoryPurge asks for one bounded batch of old rows that are not runs to be deleted.
// Kept are:
//
//   - a schedule that has ended or was deleted, for Retention after that;
//   - an action of an operator, for AuditRetention, and a pause, as long after its end;
//   - an event, for Retention after its time;
//   - an incident, while it is open, and for Retention after its closing;
//   - an excerpt of an answer, until its KeepUntil;
//   - a process, for ProcessRetention after its last heartbeat, and with it the
//     definitions that it declared;
//   - a definition that any process of the ledger declares, or that is the
//     current one of a job that has not ended;
//   - a definition of which the job has a newer one, for Retention after the newer
//     one was first declared;
//   - the newest definition of a job that has not ended, or ended within Retention;
//     of a job that never had a revision, for Retention after its first declaration.
//
// A run has its call frozen in its row and needs no definition. A definition
// that was deleted and is declared again counts as first declared then.
type HistoryPurge struct {
	Retention      time.Duration
	AuditRetention time.Duration
	Templates      []TemplateRetention // for their schedules, instead of Retention
	Batch          int                 // at most this many rows of each kind; below 1 the default, 1000
	// DryRun deletes nothing and counts all rows that may be deleted, whatever Batch.
	// Definitions that only a process to be deleted declares count as kept.
	DryRun bool
}

// BatchSize returns the number of rows of each kind that the purge may delete at once.
func (p HistoryPurge) BatchSize() int { return batchOrDefault(p.Batch) }

// ProcessRetention is the time after its last heartbeat for which a killed process is kept. A
// process that was suspended for longer declares itself again.
const ProcessRetention = 24 * time.Hour

// PurgedHistory counts what a HistoryPurge deleted.
type PurgedHistory struct {
	Audit     int
	Pauses    int
	Events    int
	Incidents int
	Excerpts  int
	Processes int
	// VersionEntries counts the rows that say which definitions belong to a version. They
	// are deleted when no process declares the version.
	VersionEntries int
	Definitions    int
	Schedules      int  // made at run time, that have ended or were deleted
	More           bool // a full batch of some kind was deleted: ask again
}

// Total returns the number of deleted rows of all kinds.
func (p PurgedHistory) Total() int {
	return p.Audit + p.Pauses + p.Events + p.Incidents + p.Excerpts + p.Processes + p.VersionEntries + p.Definitions + p.Schedules
}

// maxDeleted returns the number of deleted rows of the kind of which most were deleted.
func (p PurgedHistory) maxDeleted() int {
	return max(p.Audit, p.Pauses, p.Events, p.Incidents, p.Excerpts, p.Processes, p.VersionEntries, p.Definitions, p.Schedules)
}

// PurgeHistory deletes a batch of old rows that are not runs. See HistoryPurge. While it deletes,
// no process can declare itself; so it looks first whether there is anything.
func (l *Ledger) PurgeHistory(ctx context.Context, p HistoryPurge) (PurgedHistory, error) {
	limit := p.BatchSize()
	if p.DryRun {
		limit = 0
	}
	// Most often there is nothing to delete: it looks before it locks anything.
	got, err := read(ctx, l, "look for old rows", func(tx Tx) (PurgedHistory, error) { return p.purge(tx, limit, false) })
	if err != nil || p.DryRun || got.Total() == 0 {
		return got, err
	}
	got, err = write(ctx, l, "purge the history", func(tx Tx) (PurgedHistory, error) { return p.purge(tx, limit, true) })
	got.More = err == nil && got.maxDeleted() >= limit
	return got, err
}

// purge deletes, or counts, up to limit rows of each kind. A limit below 1 is none.
func (p HistoryPurge) purge(tx Tx, limit int, del bool) (got PurgedHistory, err error) {
	if del { // a process that declares itself would use a definition that is deleted
		if err := tx.LockDeclarations(); err != nil {
			return got, err
		}
	}
	now, err := tx.Now()
	if err != nil {
		return got, err
	}
	kinds := p.kinds(now, &got)
	countFutures := make([]Future[int], len(kinds))
	for i, k := range kinds {
		countFutures[i] = tx.OldRows(k.rows, limit, del)
	}
	processesFuture := tx.Processes() // those that are left
	for i, k := range kinds {
		n, err := countFutures[i].Get()
		if err != nil {
			return got, err
		}
		*k.n += n
	}
	list, err := processesFuture.Get()
	if err != nil {
		return got, err
	}
	used := make([]string, len(list))
	for i := range list {
		used[i] = list[i].Version
	}
	used = sortedSet(used)
	if got.VersionEntries, err = tx.OtherVersionEntries(used, limit, del).Get(); err != nil {
		return got, err
	}
	if limit < 1 || got.VersionEntries < limit { // else a version that no process declares refers to them
		got.Definitions, err = p.definitions(tx, now.Add(-p.Retention), used, limit, del)
	}
	return got, err
}

// oldRowsCount is a kind of old rows, and the field of the result that has their number.
type oldRowsCount struct {
	rows OldRows
	n    *int
}

// kinds returns the old rows of each kind at a time, but for definitions and their versions.
func (p HistoryPurge) kinds(now time.Time, got *PurgedHistory) []oldRowsCount {
	kinds := []oldRowsCount{
		{OldRows{Kind: AuditRows, Until: now.Add(-p.AuditRetention)}, &got.Audit},
		{OldRows{Kind: PauseRows, Until: now.Add(-p.AuditRetention)}, &got.Pauses},
		{OldRows{Kind: EventRows, Until: now.Add(-p.Retention)}, &got.Events},
		{OldRows{Kind: IncidentRows, Until: now.Add(-p.Retention)}, &got.Incidents},
		{OldRows{Kind: ExcerptRows, Until: now}, &got.Excerpts},
		{OldRows{Kind: ProcessRows, Until: now.Add(-ProcessRetention)}, &got.Processes},
		{OldRows{Kind: ScheduleRows, Until: now.Add(-p.Retention), Of: otherTemplates(p.Templates)}, &got.Schedules},
	}
	for _, t := range p.Templates {
		old := OldRows{Kind: ScheduleRows, Until: now.Add(-t.Retention), Of: OfTemplates{Templates: []string{t.Template}}}
		kinds = append(kinds, oldRowsCount{old, &got.Schedules})
	}
	return kinds
}

// definitions deletes, or counts, definitions that are no longer needed at a time: neither by
// the versions that processes declare, nor by their job.
func (p HistoryPurge) definitions(tx Tx, until time.Time, used []string, limit int, del bool) (int, error) {
	var gone []DefinitionKey
	var after DefinitionKey
	for full := true; full && (limit < 1 || len(gone) < limit); {
		page, err := tx.OldDefinitions(until, used, after, purgePage).Get()
		if err != nil {
			return 0, err
		}
		for i := range page {
			after = page[i].DefinitionKey
			if !page[i].isNeeded(until) && (limit < 1 || len(gone) < limit) {
				gone = append(gone, after)
			}
		}
		full = len(page) == purgePage
	}
	if !del || len(gone) == 0 {
		return len(gone), nil
	}
	return len(gone), tx.DeleteDefinitions(gone)
}

// purgePage is the number of definitions that are read at once.
const purgePage = 1000

// isNeeded reports whether the definition, which no process declares, is its job's current
// one, or has not been superseded, or its job ended, for as long as the retention.
func (d *OldDefinition) isNeeded(until time.Time) bool {
	switch {
	case d.Revision > 0 && d.EndedAt.IsZero() && d.Current == d.Hash:
		return true
	case !d.NextAt.IsZero():
		return d.NextAt.After(until)
	case d.Revision == 0:
		return false
	default:
		return d.EndedAt.IsZero() || d.EndedAt.After(until)
	}
}

// TemplateRetention has the retention of a template's schedules and of their runs, counted from
// their end.
type TemplateRetention struct {
	Template  string
	Retention time.Duration
}

// otherTemplates selects what has no retention of its own.
func otherTemplates(list []TemplateRetention) OfTemplates {
	others := OfTemplates{Except: true}
	for _, t := range list {
		others.Templates = append(others.Templates, t.Template)
	}
	return others
}

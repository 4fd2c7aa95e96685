package ledger

import (
	"context"
	"time"
)

// Purge asks for one bounded batch of finished runs, with their attempts, to be
// deleted, oldest ScheduledAt first. That is the order in which runs are stored, and
// nearly all finish in it. Kept are:
//
//   - a run that finished within its retention, however long ago it was
//     scheduled;
//   - a run that finished before its time (canceled), until its time too is
//     past retention;
//   - every unfinished run;
//   - an unacknowledged dead run, until DeadRetention;
//   - a run at a scheduled time after its job's watermark while the job has a revision
//     (an event came before the plan): its row is what keeps the plan from
//     running it again.
//
// The members of a run are deleted before it, however long ago they finished.
//
// In the same transaction the jobs' PurgedThrough rises to the newest scheduled time
// deleted; it is never lowered, and ~ runs do not raise it. Watermarks stay.
type Purge struct {
	Retention     time.Duration // since FinishedAt
	DeadRetention time.Duration // since FinishedAt, of unacknowledged dead runs
	// Templates have their own Retention for the runs of their schedules.
	Templates []TemplateRetention
	Batch     int // at most this many runs; below 1 the default, 1000
	// From continues after an earlier batch: it is its Next. Zero begins anew.
	From PurgeCursor
	// DryRun deletes nothing and counts all runs that are past retention, whatever
	// Batch. A run with members counts as one.
	DryRun bool
}

// Purged is the result of a Purge.
type Purged struct {
	Runs int // deleted, members too, a range row counted as one
	// Next is the place at which the next batch continues.
	Next PurgeCursor
	// More reports that a full batch was found: ask again, From Next. Runs may still
	// be fewer than a batch, as a run that is redriven before it is deleted stays.
	More bool
}

// PurgeCursor is the position of a purge. Many runs may have one scheduled time,
// and most of them may be kept: the purge reads them once, and Found lists those
// that no batch had room for yet.
type PurgeCursor struct {
	After time.Time // runs scheduled up to it are not read again
	Found []string  // run IDs up to After that were past their retention
	Pass  int       // 0: the runs without a retention of their template; n: those of Templates[n-1]
}

// BatchSize returns the number of runs that the purge may delete at once.
func (p Purge) BatchSize() int { return batchOrDefault(p.Batch) }

// batchOrDefault returns the size of a batch, or of one that sets none.
func batchOrDefault(batch int) int {
	if batch < 1 {
		return 1000
	}
	return batch
}

// PurgeRuns deletes a batch of finished runs past their retention. See Purge. It finds them without
// a lock, and checks them again when it deletes: a redrive may come between.
func (l *Ledger) PurgeRuns(ctx context.Context, p Purge) (got Purged, err error) {
	if p.DryRun {
		got.Runs, err = read(ctx, l, "count what a purge would delete", p.count)
		return got, err
	}
	got.Next, got.More = p.From, true
	if len(got.Next.Found) == 0 {
		// There may be very many runs that it keeps: it looks before it locks anything.
		if got.Next, err = read(ctx, l, "find runs to purge", p.find); err != nil {
			return Purged{}, err
		}
		got.More = len(got.Next.Found) >= p.BatchSize()
		if len(got.Next.Found) == 0 && p.From.Pass < len(p.Templates) {
			return Purged{Next: PurgeCursor{Pass: p.From.Pass + 1}, More: true}, nil
		}
	}
	n := min(p.BatchSize(), len(got.Next.Found))
	if n == 0 {
		return got, nil
	}
	found := got.Next.Found[:n]
	step, err := write(ctx, l, "purge runs", func(tx Tx) (Purged, error) { return p.delete(tx, found) })
	if err != nil {
		return Purged{}, err
	}
	got.Runs = step.Runs
	if step.More {
		got.More = true
	} else {
		got.Next.Found = got.Next.Found[n:]
	}
	got.More = got.More || got.Next.Pass < len(p.Templates)
	return got, nil
}

// oldRuns selects the runs that are past their retention at a time, of the pass.
func (p Purge) oldRuns(now time.Time) OldRuns {
	retention, templates := p.Retention, otherTemplates(p.Templates)
	if p.From.Pass > 0 {
		t := p.Templates[p.From.Pass-1]
		retention, templates = t.Retention, OfTemplates{Templates: []string{t.Template}}
	}
	return OldRuns{
		Of:        templates,
		Scheduled: now.Add(-min(retention, p.DeadRetention)), Finished: now.Add(-retention),
		UnacknowledgedState: Dead, UnacknowledgedFinished: now.Add(-p.DeadRetention),
	}
}

// find finds a batch, and all others of the last one's scheduled time, so that no run is
// looked at again.
func (p Purge) find(tx Tx) (PurgeCursor, error) {
	next := p.From
	now, err := tx.Now()
	if err != nil {
		return next, err
	}
	found, err := tx.OldRuns(p.oldRuns(now), p.From.After, p.BatchSize()).Get()
	for _, r := range found {
		next.After, next.Found = r.ScheduledAt, append(next.Found, r.RunID)
	}
	return next, err
}

// delete deletes the runs that are still past their retention: it locks their jobs, without which no
// run is revived. If the runs have members, it deletes a batch of the members first, and sets More.
func (p Purge) delete(tx Tx, found []string) (got Purged, err error) {
	jobsFuture := tx.LockJobs(jobsOf(found))
	now, err := tx.Now()
	if err != nil {
		return got, err
	}
	list, err := jobsFuture.Get()
	if err != nil {
		return got, err
	}
	jobs := jobsByID(list)
	found = withoutAhead(found, jobs)
	members, err := tx.DeleteOldMembers(found, p.oldRuns(now), min(p.BatchSize(), membersPurged)).Get()
	if err != nil || len(members) > 0 {
		if err == nil {
			err = markPurged(tx, members)
		}
		return Purged{Runs: len(members), More: true}, err
	}
	gone, err := tx.DeleteOldRuns(found, p.oldRuns(now)).Get()
	if err != nil || len(gone) == 0 {
		return got, err
	}
	if err := raisePurgedThrough(tx, gone, jobs); err != nil {
		return got, err
	}
	return Purged{Runs: len(gone)}, tx.FlagHours(hoursOfRuns(summaryIDs(gone)), HourPurged)
}

// markPurged notes in parents that some of their members were deleted: without them, they could
// succeed.
func markPurged(tx Tx, members []string) error {
	for i := range members {
		members[i] = ParentOf(members[i])
	}
	parents, err := tx.LockRuns(sortedSet(members)).Get()
	if err != nil {
		return err
	}
	changes := make([]RowChange, len(parents))
	for i := range parents {
		old := parents[i]
		parents[i].Fan.Purged = true
		changes[i] = DiffRows(&old, &parents[i])
		changes[i].Unlisted = true
	}
	return update(tx, changes)
}

// raisePurgedThrough raises each job's PurgedThrough to the newest scheduled time that is
// gone.
func raisePurgedThrough(tx Tx, gone []RunSummary, jobs map[string]*JobRow) error {
	before := map[string]JobRow{}
	for _, r := range gone {
		last := r.ScheduledAt
		if !r.Until.IsZero() {
			last = r.Until
		}
		j := jobs[JobOf(r.RunID)]
		if j == nil || IsAdHoc(r.RunID) || !last.After(j.PurgedThrough) {
			continue
		}
		if _, changed := before[j.JobID]; !changed {
			before[j.JobID] = *j
		}
		j.PurgedThrough = last
	}
	var changes []JobChange
	for id, old := range before {
		changes = append(changes, DiffJobs(old, *jobs[id]))
	}
	return tx.PutJobs(changes)
}

// withoutAhead leaves out the runs that their job's plan has not come to.
func withoutAhead(found []string, jobs map[string]*JobRow) (list []string) {
	for _, id := range found {
		if j := jobs[JobOf(id)]; j == nil || !j.isAhead(id) {
			list = append(list, id)
		}
	}
	return list
}

// isAhead reports whether the job's plan has yet to come to the run's scheduled time.
func (j *JobRow) isAhead(runID string) bool {
	if IsAdHoc(runID) || !j.EndedAt.IsZero() || j.Watermark.IsZero() {
		return false
	}
	_, planned := RunIDRange(j.JobID, time.Time{}, j.Watermark)
	return runID >= planned
}

// count counts all runs that may be deleted.
func (p Purge) count(tx Tx) (n int, err error) {
	for from := p.From; from.Pass <= len(p.Templates) && err == nil; from = (PurgeCursor{Pass: from.Pass + 1}) {
		var deletable int
		deletable, err = p.countPass(tx, from)
		n += deletable
	}
	return n, err
}

// countPass counts the runs of one pass that may be deleted, page by page.
func (p Purge) countPass(tx Tx, from PurgeCursor) (n int, err error) {
	p.From = from
	now, err := tx.Now()
	for after, more := p.From.After, true; more && err == nil; {
		var found []RunSummary
		if found, err = tx.OldRuns(p.oldRuns(now), after, countPage).Get(); err != nil || len(found) == 0 {
			break
		}
		after, more = found[len(found)-1].ScheduledAt, len(found) >= countPage
		ids := summaryIDs(found)
		var list []JobRow
		list, err = tx.LockJobs(jobsOf(ids)).Get()
		n += len(withoutAhead(ids, jobsByID(list)))
	}
	return n, err
}

// membersPurged bounds the members that one transaction deletes. They are spread over the runs of
// all times, so that each costs more than another run; on SQLite no run is claimed meanwhile.
const membersPurged = 150

// countPage is the number of runs that are read at once to be counted.
const countPage = 10_000

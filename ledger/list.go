package ledger

import (
	"context"
	"math"
	"time"
)

// pageSize returns the size of a page, at most a maximum; below 1, it is 100.
func pageSize(limit, most int) int {
	if limit < 1 {
		return 100
	}
	return min(limit, most)
}

// Get returns one row by its ID, and the run's attempts by number. It returns ErrNotFound
// for an ID that has no row.
func (l *Ledger) Get(ctx context.Context, runID string) (run Run, attempts []Attempt, err error) {
	run, err = read(ctx, l, "run "+runID, func(tx Tx) (Run, error) {
		rowsFuture := tx.Find([]string{runID})
		attemptsFuture, excerptsFuture := tx.Attempts(runID), tx.Excerpts(runID)
		rows, err := rowsFuture.Get()
		if err != nil {
			return Run{}, err
		}
		if len(rows) == 0 {
			return Run{}, ErrNotFound
		}
		if attempts, err = attemptsFuture.Get(); err != nil {
			return Run{}, err
		}
		return rows[0].Visible(), addExcerpts(tx, attempts, excerptsFuture)
	})
	if err != nil {
		return Run{}, nil, err
	}
	return run, attempts, nil
}

// LastAttempts returns the last attempt of each of the runs that has one, by run ID.
func (l *Ledger) LastAttempts(ctx context.Context, runIDs []string) (map[string]Attempt, error) {
	return read(ctx, l, "last attempts", func(tx Tx) (map[string]Attempt, error) {
		futures := make([]Future[[]Attempt], len(runIDs))
		for i, id := range runIDs {
			futures[i] = tx.Attempts(id)
		}
		last := make(map[string]Attempt, len(runIDs))
		for i, future := range futures {
			list, err := future.Get()
			if err != nil {
				return nil, err
			}
			if len(list) > 0 {
				last[runIDs[i]] = list[len(list)-1]
			}
		}
		return last, nil
	})
}

// List returns a page of runs, newest ScheduledAt first. See Filter.
func (l *Ledger) List(ctx context.Context, f Filter) ([]Run, error) {
	f.Limit = pageSize(f.Limit, math.MaxInt)
	return read(ctx, l, "list runs", func(tx Tx) ([]Run, error) {
		rows, err := tx.Newest(f).Get()
		return listed(rows), err
	})
}

// listed returns runs as lists show them.
func listed(rows []Row) (runs []Run) {
	for i := range rows {
		runs = append(runs, rows[i].listed())
	}
	return runs
}

// MaxChanges is the maximum number of changed runs that Changes returns at once.
const MaxChanges = 1000

// Changes are the runs that changed after a position; "" returns no runs and the present
// position. Their cost is bounded by MaxChanges, whatever the ledger's size. A run changes when it
// is planned, leased, recorded or acted on. It does not when its lease is extended or when it is
// purged.
type Changes struct {
	// Runs are the changed runs as they are now, each once, in no order.
	Runs []Run
	// Position is the place to continue from: a short printable ASCII text. Its form is the
	// store's.
	Position string
	// Lost reports that the changes are not listed: more than MaxChanges runs changed,
	// or the ledger has never been at the position. Runs is then empty. List the runs
	// again, and continue from Position.
	Lost bool
}

// Changes returns the runs that changed after a position.
func (l *Ledger) Changes(ctx context.Context, after string) (Changes, error) {
	return read(ctx, l, "list changes", func(tx Tx) (Changes, error) {
		c, err := tx.ChangedAfter(after, MaxChanges+1).Get()
		if c.Lost = c.Lost || len(c.Rows) > MaxChanges; c.Lost {
			c.Rows = nil
		}
		return Changes{Runs: listed(c.Rows), Position: c.Position, Lost: c.Lost}, err
	})
}

// Definitions lists the definitions of a job that are still kept, the latest first
// declaration first.
func (l *Ledger) Definitions(ctx context.Context, jobID string, limit int) ([]DeclaredDefinition, error) {
	return read(ctx, l, "definitions of "+jobID, func(tx Tx) ([]DeclaredDefinition, error) {
		return tx.Definitions(jobID, pageSize(limit, math.MaxInt)).Get()
	})
}

// Events lists a job's events, the newest recorded first.
func (l *Ledger) Events(ctx context.Context, jobID string, limit int) ([]Event, error) {
	return read(ctx, l, "events of "+jobID, func(tx Tx) ([]Event, error) { return tx.Events(jobID, pageSize(limit, math.MaxInt)).Get() })
}

// Incidents returns a page of incidents. See IncidentFilter.
func (l *Ledger) Incidents(ctx context.Context, f IncidentFilter) ([]Incident, error) {
	f.Limit = f.PageSize()
	return read(ctx, l, "list incidents", func(tx Tx) ([]Incident, error) { return tx.Incidents(f).Get() })
}

// Audit returns a page of the actions of operators, newest first. See AuditFilter.
func (l *Ledger) Audit(ctx context.Context, f AuditFilter) ([]Audit, error) {
	return read(ctx, l, "list the audit", func(tx Tx) ([]Audit, error) { return tx.Audits(f).Get() })
}

// RunSummary is the part of a Run that an overview of many runs needs. Its fields mean
// the same as there. Recent returns at most n of each job, newest first, without ~ runs, from
// the job's newest OutcomeWindow rows.
type RunSummary struct {
	RunID       string
	ScheduledAt time.Time
	Until       time.Time // a range's last scheduled time, else zero
	Count       int
	State       State
	Reason      Reason
	Replayed    bool
	StartedAt   time.Time
	FinishedAt  time.Time
}

// Recent returns the newest rows of each of the jobs, at most n of each, newest first,
// without ~ runs. It looks back over a job's newest OutcomeWindow rows.
func (l *Ledger) Recent(ctx context.Context, jobIDs []string, n int) (map[string][]RunSummary, error) {
	return read(ctx, l, "list recent runs", func(tx Tx) (map[string][]RunSummary, error) {
		list, err := tx.Recent(sortedSet(jobIDs), max(n, 0), OutcomeWindow).Get()
		byJob := map[string][]RunSummary{}
		for _, r := range list {
			job := JobOf(r.RunID)
			byJob[job] = append(byJob[job], r)
		}
		return byJob, err
	})
}

// Counts is the ledger's state for metrics. Its cost does not grow with the number of
// finished runs.
type Counts struct {
	Unfinished         map[State]int // by state; no members
	DeadUnacknowledged int           // dead and not acknowledged
	Incidents          int           // open
	// OldestDue is the NextAt of the oldest planned, retrying or accepted run that is
	// due; zero if none is. A run that waits for the slot is not due.
	OldestDue time.Time
	Now       time.Time // the store's clock
	// PlannedThrough is the latest watermark of a job that has not ended; zero if there is
	// none.
	PlannedThrough time.Time
}

// Ahead returns how far the ledger's latest plan is ahead of its clock. See AheadOfClock.
func (c Counts) Ahead() time.Duration { return AheadOfClock(c.PlannedThrough, c.Now) }

// Counts counts the unfinished runs, the unacknowledged dead runs and the open incidents.
// See Counts.
func (l *Ledger) Counts(ctx context.Context) (Counts, error) {
	return read(ctx, l, "count runs", func(tx Tx) (Counts, error) {
		countsFuture := tx.Counts([]State{Planned, Retrying, Accepted})
		now, err := tx.Now()
		if err != nil {
			return Counts{}, err
		}
		c, err := countsFuture.Get()
		for i := 0; i < len(Unfinished) && err == nil; i++ { // those of which there is no run too
			c.Unfinished[Unfinished[i]] += 0
		}
		c.Now = now
		return c, err
	})
}

// Ranges returns the range rows of a job in which a scheduled time of [first, last] lies,
// the oldest first.
func (l *Ledger) Ranges(ctx context.Context, jobID string, first, last time.Time) ([]RunSummary, error) {
	return read(ctx, l, "list ranges", func(tx Tx) (list []RunSummary, err error) {
		rows, err := tx.LockRanges(jobID, first, last).Get()
		for i := range rows {
			r := &rows[i]
			list = append(list, RunSummary{
				RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason, FinishedAt: r.FinishedAt,
			})
		}
		return list, err
	})
}

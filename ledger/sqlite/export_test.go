package sqlite

import (
	"context"
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// TallyJob is the query of a job's hours.
const TallyJob = tallyJob

// SelectRuns is the query of a filter, as lists have it.
func SelectRuns(f ledger.Filter, direction string) (string, []any) {
	return selectRuns(listColumns, f, direction)
}

// SelectAudit is the query of a filter.
var SelectAudit = selectAudit

// Exec runs a statement on the writing connection, outside a transaction.
func (l *Ledger) Exec(ctx context.Context, statement string) error {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	if err := l.openWriter(ctx); err != nil {
		return err
	}
	_, err := l.writer.conn.ExecContext(ctx, statement)
	return err
}

// TryLock takes the lock of the queue.
var TryLock = tryLock

// Statements are those that were prepared for writing so far.
func (l *Ledger) Statements() []string {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	return slices.Sorted(maps.Keys(l.writer.stmts))
}

// Reads are the queries of the listings.
func Reads() []string {
	return append(ReadsOfFewJobs(), schedulesOf, firstDue, dueByTemplate, schedulesByID, tallyTemplate, unseenOfJobs, heldTargets, countOfJobs, eventList, declaredList, unfinishedCounts, otherCounts, getAttempts, oldRunsAfter, oldRunsTied, deleteOldRuns, getPosition, getChanges, recentRows, tallyJob, tallyByJob, tallyAll, staleHours, hoursIn, hoursOf)
}

// ReadsOfFewJobs are the texts of the queries for jobs that are named.
func ReadsOfFewJobs() []string { return []string{lastRuns, lastRunsIn, streak} }

// Rows returns the engine's rows.
func (l *Ledger) Rows() ledger.Rows { return rows{l} }

package sqlite

import (
	"context"
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// TallyJob returns the query of a job's hours.
func TallyJob() string {
	text, _ := sqltx.Tx{Dialect: &dialect}.TallyText(ledger.TallyQuery{JobID: "a"})
	return text
}

// SelectRuns is the query of a filter, as lists have it.
func SelectRuns(f ledger.Filter, direction string) (string, []any) {
	s := dialect.Runs(f)
	return s.Text(sqltx.Columns(&dialect, false), `runs`, dialect.Order(f, direction), f.Limit), s.Args
}

// SelectAudit is the query of a filter.
var SelectAudit = dialect.Audit

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

// Reads are the queries of the listings, as they are prepared for them.
func (l *Ledger) Reads(ctx context.Context) (texts []string, err error) {
	list := []string{"a"}
	err = l.read(ctx, func(x ledger.Tx) error {
		t := x.(*tx)
		held, page := []string{"t"}, ledger.ScheduleFilter{Template: "a"}
		_, err := t.LockSchedulesAfter("a", 0, 1).Get()
		_ = []any{
			t.Processes(), t.JobsAfter("", 1), t.JobsAndNewest(), t.LockJobs(list), t.JobBodies(list), t.CountRunning(), t.LastLease(),
			t.CountDefinitions(), t.Declared("v", "", 1), t.OpenIncidents("", nil), t.OpenIncidents(ledger.IncidentDead, list),
			t.LockLastIncidents(ledger.IncidentDead, list), t.LockIncidents([]int64{1}), t.LockPendingIncidents(), t.Incidents(ledger.IncidentFilter{Limit: 1}),
			t.Incidents(ledger.IncidentFilter{Due: true, Limit: 1}), t.Pauses(at(0)), t.LockPause(1), t.FindRequest("p", "k"), t.SeriesEnd("me", "s"),
			t.Redriven(list, "me", "s"), t.SelectMembers(ledger.MemberQuery{Parent: "a"}), t.CountMembers(list, ledger.States), t.HourSpan(),
			t.HoursIn(at(0), at(1), true, 1), t.HoursIn(at(0), at(1), false, 0), t.StoredHours([]string{"a"}, at(0), at(1)), t.HourSums(list, at(0), at(1), [2]string{}), t.Attempts("a"), t.Excerpts("a"),
			t.Definitions("a", 1), t.Events("a", 1), t.CountByJob(ledger.Running, list), t.CountUnacknowledged(list), t.Recent(list, 1, 1),
			t.GivenBack(held), t.Counts(ledger.States), t.Find(list), t.Leased("t"), t.LockLate(1), t.LockDue(ledger.DueQuery{Limit: 1}),
			t.LockDue(ledger.DueQuery{Limit: 1, Only: list}), t.NextDue(), t.Slots(list), t.WaitingOf(list), t.Paced("a"), t.Unfinished(list), t.LockRanges("a", at(0), at(1)),
			t.CountSingles("a", at(0), at(1)), t.Templates(),
			t.LockSchedules(list), t.LockDueSchedules("a", at(0), 1), t.FirstDue(list, at(0)), t.CountDue(at(1), 1, nil),
			t.CountDue(at(1), 1, held), t.Schedules(page), t.OldRuns(ledger.OldRuns{}, at(0), 1), t.ChangedAfter("0", 1), t.OldDefinitions(at(0), nil,
				ledger.DefinitionKey{}, 1), t.Tally(ledger.TallyQuery{JobID: "a"}), t.Tally(ledger.TallyQuery{JobID: "a", Template: true}),
			t.Tally(ledger.TallyQuery{ByJob: true}), t.Tally(ledger.TallyQuery{}),
		}
		texts = slices.Sorted(maps.Keys(t.w.stmts))
		return err
	})
	return append(append(texts, oldRunsTied, deleteOldRuns, deleteOldMembers, nextWaiting+freeOf, getChanges), ReadsOfFewJobs()...), err
}

// ReadsOfFewJobs are the texts of the queries for jobs that are named.
func ReadsOfFewJobs() []string { return []string{lastRuns, lastRunsIn, firstGood, streak} }

// Rows returns the engine's rows.
func (l *Ledger) Rows() ledger.Rows { return rows{l} }

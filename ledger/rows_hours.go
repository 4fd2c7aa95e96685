package ledger

import "time"

// HourTable is the part of a Tx that has the counts of hours that are over. An hour is
// named by its start, UTC. See [Ledger.RollUp].
type HourTable interface {
	// HourSpan returns which hours are counted, and locks that in a transaction that writes: of two
	// processes that count, one goes on.
	HourSpan() Future[HourSpan]
	PutHourSpan(HourSpan) error
	// StoredHours returns the rows of jobs in [since, until), in no order.
	StoredHours(jobIDs []string, since, until time.Time) Future[[]HourRow]
	// HourSums counts those of the rows of HoursOf that are not stale by their Counts, of which it
	// leaves out what follows the first of the marks. Rows that are alike may be in several sums.
	HourSums(jobIDs []string, since, until time.Time, marks [2]string) Future[[]HourSum]
	// HoursIn returns the rows of all jobs in [since, until), by Hour, then JobID: only
	// stale ones, if stale is set, and up to limit, if that is not 0. In a transaction
	// that writes, it locks them, as does HoursOf.
	HoursIn(since, until time.Time, stale bool, limit int) Future[[]HourRow]
	// PutHours writes new rows, and the Counts of those that exist.
	PutHours([]HourRow) error
	// FlagHours sets a flag. Every transaction that changes a run of an hour that is over makes the
	// hour stale by it.
	FlagHours([]HourKey, HourFlag) error
	// DeleteHours deletes up to limit rows of hours before a time, the oldest first. RollUp calls
	// it with each hour that it adds.
	DeleteHours(before time.Time, limit int) error
	// Slowdowns returns the text that PutSlowdowns wrote last, at first "".
	Slowdowns() Future[string]
	PutSlowdowns(text string) error
	// Tally counts runs from their rows, in no order.
	Tally(TallyQuery) Future[[]RunCount]
}

// HourSpan are the hours [From, To), which are counted: a job without a row had no run in
// such an hour. From and To are zero if none is counted.
type HourSpan struct{ From, To time.Time }

// HourKey names a row of an hour.
type HourKey struct {
	Hour  time.Time
	JobID string // of a job or a template, with all of its schedules; "": the sum of all jobs
}

// HourRow has the counts of the runs of a job that were scheduled in an hour.
type HourRow struct {
	HourKey
	Counts string // a Tally, which an engine does not read; "": no run
	// Stale says that runs of the hour have changed since they were counted. Counts stays
	// until they are counted again, as it is a part of the sum of all jobs.
	Stale bool
	// Purged says that some of the runs were purged. Counts then stays as it is.
	Purged bool
}

// HourSum is the number of rows of an hour that have the same Counts.
type HourSum struct {
	Hour   time.Time
	Counts string // of each
	Rows   int
}

// HourFlag is a change of the flags of rows.
type HourFlag int

// The changes of flags.
const (
	HourStale    HourFlag = iota // sets Stale, but not where Purged is set; writes a row where there is none
	HourNotStale                 // clears Stale
	HourPurged                   // sets Purged, but not where Stale is set
)

// TallyQuery selects the runs that are counted.
type TallyQuery struct {
	JobID        string // "": of all jobs
	Since, Until time.Time
	// Template says that JobID is that of a template too: its schedules are counted with it.
	Template bool
	// ByJob counts each job for itself, and with each template its schedules. Otherwise the
	// counts of all jobs have no JobID.
	ByJob bool
	// States counts by state alone: Late and Took are NoBucket, and Sum is 0.
	States bool
}

// Package proof checks the results of the simulation and of chaos. From the ledger's
// rows, the declared definitions and the targets' own records, it decides whether
// anything was lost or doubled:
//
//   - every scheduled time in the window has exactly one row (a range row counts
//     for its times), and every row is for a scheduled time;
//   - every succeeded run has exactly one effect in its target's record, every
//     other run at most one, and no effect is without a run;
//   - no effect is before its run's scheduled time, none began after its sendBefore;
//   - every call made for a run is the same call;
//   - no call is sent after its run's sendBefore, each attempt is in its run's
//     history, and no more of them failed than the run's retries allow;
//   - a dead run has a reason, and its history agrees with it;
//   - no run is unfinished when it should long have ended, and none took longer
//     than its horizon and a lease;
//   - a run that met no fault succeeded;
//   - a list of members is one that the target served in whole, and a parent that succeeded
//     has a run of each member, which succeeded too; one that died of them, a run of each, which
//     ended.
//
// A Witness, where a harness can put one between the executors and the ledger, adds
// what the rows do not show afterwards:
//
//   - only a lease's holder recorded an outcome;
//   - a job's slot held one run at a time;
//   - no scheduled time was skipped, missed or superseded without the cause that its
//     row gives, and none ran that a pause or the job's catchUp excludes;
//   - no run of a held target was leased, and what a pause keeps back is due at its end;
//   - no more backfilled runs of a job ran at a time than their pace allows;
//   - claims leased all due runs, and none of a target or job at its limit;
//   - no retry came before its wait was over, and no row was purged before its time;
//   - each problem is counted in an incident of its job and cause, of which one is
//     open at a time, and the job's next success closes it unless its cause is unplanned;
//   - each channel got the notifications of the incidents that it selects, in order:
//     opened, reminded, recovered; no others, none twice, and none about its own
//     failures.
//
// Evidence is optional: each rule checks the evidence that the harness provides.
package proof

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// Revision is a time in which one definition of a job was current: its scheduled times in
// (From, To] are due.
type Revision struct {
	JobID    string
	Schedule *schedule.Schedule
	From, To time.Time
	Open     bool // it had not ended: later scheduled times may have rows already
}

// Keyed is a scheduled time that was given to a function without a ledger: the
// target's key alone protects it.
type Keyed struct {
	At, SendBefore time.Time
	// Acknowledged: a function told the platform that all is well.
	Acknowledged bool
}

// Removal is a row that a purge removed.
type Removal struct {
	ledger.Run
	At                       time.Time // on the ledger's clock
	Retention, DeadRetention time.Duration
}

// Effect is one entry of a target's own record: work that was committed there.
type Effect struct {
	RunID string
	Begun time.Time // when the work began, on the target's clock
	At    time.Time // when it was committed
}

// Request is a call as it arrived at a target.
type Request struct {
	RunID string
	Text  string // all that must be the same in every call of the run
	// Attempt is the number that the call says; 0: not known.
	Attempt int
	// Sent is when it left, on the ledger's clock as far as the sender can have
	// heard of it; zero: not known.
	Sent time.Time
	// Reason is what the target's refusal means for the run; "": none.
	Reason ledger.Reason
}

// Evidence is what a harness hands the checker.
type Evidence struct {
	Revisions []Revision
	// Rows are the ledger's rows, and those that were purged as they last were.
	Rows []ledger.Run
	// Given are the run IDs of scheduled times that came from a platform's schedule;
	// they may be in no revision.
	Given    map[string]bool
	Effects  []Effect
	Requests []Request
	// Always are the jobs that every process declared at all times: their
	// revisions follow one another without a gap.
	Always []string
	// Due: runs planned up to then have had time to end.
	Due time.Time
	// Skew is how far a target's clock may differ from the ledger's.
	Skew time.Duration
	// Lag is how far a sender's clock may be behind the ledger's.
	Lag time.Duration
	// Back is how far the ledger's clock was set back in all. It moves the send-before
	// times of runs by as much at most, also of those whose calls have been made.
	Back time.Duration
	// Lead is how far a process's clock may be ahead of the ledger's.
	Lead time.Duration
	// Keyed are the scheduled times of functions without a ledger, by run ID.
	Keyed map[string]Keyed
	// Attempts are the runs' histories as the ledger keeps them; nil: not known.
	Attempts map[string][]ledger.Attempt
	// Renewed: the number of the last attempt before an operator, or a target that accepted it,
	// renewed a run's retries (a redrive, a backfill).
	Renewed map[string]int
	// Returned: the highest number of a call that was answered "still accepted",
	// and is not in its run's history unless another attempt got it.
	Returned map[string]int
	// Answered: Requests say which calls were refused, and why.
	Answered bool
	// Removed are the rows that purges removed.
	Removed []Removal
	// Healthy: from then on nothing failed; zero: not known. Begun is when runs
	// were leased first. Both are on a clock that nobody sets.
	Healthy time.Time
	Begun   map[string]time.Time
	// Took is how long each run took from its first lease to its end, or up to
	// now, times without any live process left out.
	Took map[string]time.Duration
	// Spare is what a run may take beyond its horizon: a lease, and how often
	// processes look.
	Spare time.Duration
	// Problems are how many dead runs and missed scheduled times each job had; nil:
	// not known.
	Problems map[Problems]int
	// Incidents are the ledger's, and Channels where they are told. Up to Watched, on
	// the ledger's clock, a process was there to tell them, without a fault.
	Incidents []ledger.Incident
	Channels  []jobs.Channel
	Watched   time.Time
	// Frozen are the lists of members, by parent, and Lists the keys that the target served
	// for it, one list for each time that it served one; nil: not known.
	Frozen map[string][]ledger.Member
	Lists  map[string][][]string
	// Seen are the violations that a Witness saw as they happened.
	Seen []Violation
}

// Violation is one finding.
type Violation struct {
	Rule Rule
	Of   string // the run or job that it is about
	What string // particulars
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s %s", v.Rule, v.Of, v.What) }

// Tally counts what was checked.
type Tally struct {
	Times, Rows, Effects int
	Succeeded, Replayed  int
	Dead, Unrun          int // Unrun: skipped, missed, superseded, canceled scheduled times
	Incidents, Notices   int
}

// Add sums two tallies.
func (t *Tally) Add(o Tally) {
	t.Times += o.Times
	t.Rows += o.Rows
	t.Effects += o.Effects
	t.Succeeded += o.Succeeded
	t.Replayed += o.Replayed
	t.Dead += o.Dead
	t.Unrun += o.Unrun
	t.Incidents += o.Incidents
	t.Notices += o.Notices
}

// Check returns every violation that the evidence shows; none is the proof.
func Check(e Evidence) ([]Violation, Tally) {
	c := &check{Evidence: e, found: e.Seen, rows: map[string]ledger.Run{}, failedMembers: map[string]int{}}
	for _, look := range looks {
		look(c)
	}
	return c.found, c.tally
}

// looks are what is looked at, the scheduled times first: they sort the rows.
var looks = []func(*check){
	(*check).scheduledTimes, (*check).gaps, // Lost, Doubled, Stray, Miscounted; Gap, Unsettled
	(*check).members,   // Partial, Deserted, Torn
	(*check).effects,   // NoEffect, TwoEffects, NoRun, Unplanned, Early, Late
	(*check).keyed,     // of functions without a ledger: Unheeded
	(*check).requests,  // Changed
	(*check).sent,      // SentLate
	(*check).ends,      // Stuck
	(*check).spans,     // Slow
	(*check).histories, // Forgotten
	(*check).budgets,   // Tireless
	(*check).deaths,    // Unfounded
	(*check).wasted,    // Wasted
	(*check).removals,  // Purged
	(*check).incidents, // Unopened, Baseless
	(*check).notices,   // Baseless, Untold, Misled, Echoed
}

type check struct {
	Evidence
	found []Violation
	tally Tally
	rows  map[string]ledger.Run // the newest of each id
	// failedMembers counts those that are dead or canceled, by parent.
	failedMembers map[string]int
}

func (c *check) add(rule Rule, of, what string, args ...any) {
	c.found = append(c.found, Violation{rule, of, fmt.Sprintf(what, args...)})
}

// requests finds runs whose calls differ.
func (c *check) requests() {
	first := map[string]string{}
	for _, r := range c.Requests {
		if seen, ok := first[r.RunID]; ok && seen != r.Text {
			c.add(Changed, r.RunID, "first %s, then %s", seen, r.Text)
		}
		first[r.RunID] = r.Text
	}
}

// gaps finds times for which a job has no revision that should have one.
func (c *check) gaps() {
	for _, id := range c.Always {
		var list []Revision
		for _, e := range c.Revisions {
			if e.JobID == id {
				list = append(list, e)
			}
		}
		// A revision that ended where it began comes before the one that goes on from there.
		slices.SortFunc(list, func(a, b Revision) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
		for i := 1; i < len(list); i++ {
			if !list[i].From.Equal(list[i-1].To) {
				c.add(Gap, id, "from %s to %s", stamp(list[i-1].To), stamp(list[i].From))
			}
		}
		if len(list) == 0 || !list[len(list)-1].Open {
			c.add(Unsettled, id, "")
		}
	}
}

// ends finds runs that should have ended.
func (c *check) ends() {
	for _, r := range c.Rows {
		if !r.State.Finished() && !r.PlannedAt.After(c.Due) {
			c.add(Stuck, r.ID, "%s since %s, attempt %d, next %s, lease until %s", r.State,
				stamp(r.PlannedAt), r.Attempt, stamp(r.NextAt), stamp(r.LeasedUntil))
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Package memory is a ledger in the memory of one process. Use it for tests and for
// simulations in virtual time: it reads the clock by time.Now only, and starts no
// goroutine. It is also the simplest store that passes ledgertest.
//
// Its contents are lost when the process ends. Several executors may share one ledger.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Ledger implements ledger.Store in memory. It is safe for concurrent use. It keeps and
// returns each ledger.Call without copying what the Call points to: do not modify that.
type Ledger struct {
	mu    sync.Mutex
	ahead time.Duration // how far the clock was moved on by hand

	registry        string
	processes       map[string]*process
	versions        map[string]map[string]string      // version -> job -> hash
	declared        map[string]map[string]declaration // job -> hash -> its first declaration
	lastDeclaration int                               // the order of the last first declaration
	bodies          map[string][]byte                 // job, hash -> definition

	jobs               map[string]*job
	runs               map[string]*record
	leases             map[string]map[string]*record // token -> run ID -> the run leased under it
	queue              queue                         // unfinished runs that do not wait for a slot
	states             map[ledger.State]int
	deadUnacknowledged int // dead and not acknowledged
	audit              []ledger.Audit
	acts               int64  // the ID of the last entry of the audit
	change             uint64 // the position of the last change of a run

	incidents []*ledger.Incident // by ID
	opened    int64              // the ID of the last incident
	lates     []*record          // unfinished once, with a lateAt
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{
		processes: map[string]*process{},
		versions:  map[string]map[string]string{},
		declared:  map[string]map[string]declaration{},
		bodies:    map[string][]byte{},
		jobs:      map[string]*job{},
		runs:      map[string]*record{},
		leases:    map[string]map[string]*record{},
		states:    map[ledger.State]int{},
	}
}

// record is a row and what the store keeps with it.
type record struct {
	ledger.Run
	job           *job
	changed       uint64 // the position of its last change
	attempts      []ledger.Attempt
	token         string // of the lease, while running
	recordedToken string // the token of the last lease that was recorded
	leasedAt      time.Time
	takesSlot     bool // it takes the job's slot while unfinished
	waiting       bool // it waits for the slot
	lateAt        time.Time
	heap          *dues
	index         int // in heap
}

// begin locks the ledger and reads its clock, once a transaction. Times are
// kept to the microsecond, as databases keep them.
func (l *Ledger) begin(ctx context.Context) (now time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return now, fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	l.mu.Lock()
	return time.Now().Add(l.ahead).UTC().Truncate(time.Microsecond), nil
}

// move changes a run's state and keeps the counts. It removes the run from the
// queue, whose order must not change while the run is in it; the caller then calls
// place.
func (l *Ledger) move(r *record, to ledger.State, why ledger.Reason) {
	l.queue.remove(r)
	l.touch(r)
	if r.State == ledger.Dead && r.AckedAt.IsZero() {
		l.deadUnacknowledged--
	}
	if to == ledger.Dead {
		l.deadUnacknowledged++
	}
	l.leave(r)
	r.State, r.Reason, r.WaitReason = to, why, ledger.WaitReason{}
	l.enter(r)
	if to != ledger.Running {
		l.dropLease(r)
	}
}

// leave and enter keep the tallies of a run's present state.
func (l *Ledger) leave(r *record) {
	l.states[r.State]--
	if !r.State.Finished() {
		r.job.unfinished--
	}
}

func (l *Ledger) enter(r *record) {
	l.states[r.State]++
	if !r.State.Finished() {
		r.job.unfinished++
	}
}

// finish ends a run and gives its slot to the next.
func (l *Ledger) finish(r *record, to ledger.State, why ledger.Reason, now time.Time) {
	l.move(r, to, why)
	r.NextAt, r.FinishedAt = time.Time{}, now
	l.release(r)
	l.place(r)
}

// place puts a run where Claim finds it, or takes it out.
func (l *Ledger) place(r *record) {
	l.queue.remove(r)
	if !r.State.Finished() && !r.waiting {
		l.queue.add(r)
	}
}

// ShiftClock moves the ledger's clock by d, backwards when d is negative, as the clock
// of a machine jumps.
func (l *Ledger) ShiftClock(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ahead += d
}

// Ping returns nil, or the error of ctx.
func (l *Ledger) Ping(ctx context.Context) error {
	if _, err := l.begin(ctx); err != nil {
		return err
	}
	l.mu.Unlock()
	return nil
}

// Close does nothing: other executors may share the ledger.
func (l *Ledger) Close() error { return nil }

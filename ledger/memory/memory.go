// Package memory is a ledger in the memory of one process. Use it for tests and for
// simulations in virtual time: it starts no goroutine of its own, and waits for nothing. It is also the
// simplest engine that passes ledgertest.
//
// Its contents are lost when the process ends. Several executors may share one ledger.
package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Ledger implements ledger.Store in memory. It is safe for concurrent use. It keeps and
// returns each ledger.CallSpec without copying what the Call points to: do not modify that.
type Ledger struct {
	*ledger.Ledger // the rules, over the rows below

	now   func() time.Time
	mu    sync.Mutex
	ahead time.Duration // how far the clock was moved on by hand

	registry        string
	processes       map[string]ledger.ProcessRow
	versions        map[string]map[string]string      // version -> job -> hash
	declared        map[string]map[string]declaration // job -> hash -> its first declaration
	lastDeclaration int                               // the order of the last first declaration
	bodies          map[string][]byte                 // job, hash -> definition

	jobs      map[string]ledger.JobRow
	events    []ledger.Event
	runs      map[string]*record
	open      map[string]*record         // those that are unfinished
	slots     map[string]*record         // those that have their jobs' slots, by job
	members   map[string][]ledger.Member // by parent; by run ID
	excerpts  map[string]ledger.Excerpt  // by run and attempt
	audit     []ledger.Audit
	lastAudit int64  // the ID of the last entry of the audit
	change    uint64 // the position of the last change of a run

	incidents    map[int64]ledger.Incident
	lastIncident int64 // the ID of the last incident

	pauses    map[int64]ledger.Pause
	lastPause int64

	hours     map[ledger.HourKey]ledger.HourRow
	span      ledger.HourSpan
	slowdowns string

	templates    map[string]ledger.TemplateRow
	schedules    map[string]ledger.ScheduleRow // by job ID
	lastSchedule int64
}

// New returns an empty ledger whose clock is time.Now.
func New() *Ledger { return WithClock(time.Now) }

// WithClock returns an empty ledger with a clock.
func WithClock(now func() time.Time, options ...ledger.Option) *Ledger {
	l := &Ledger{
		now:       now,
		processes: map[string]ledger.ProcessRow{},
		versions:  map[string]map[string]string{},
		declared:  map[string]map[string]declaration{},
		bodies:    map[string][]byte{},
		jobs:      map[string]ledger.JobRow{},
		runs:      map[string]*record{},
		open:      map[string]*record{},
		slots:     map[string]*record{},
		members:   map[string][]ledger.Member{},
		excerpts:  map[string]ledger.Excerpt{},
		incidents: map[int64]ledger.Incident{},
		pauses:    map[int64]ledger.Pause{},
		hours:     map[ledger.HourKey]ledger.HourRow{},
		templates: map[string]ledger.TemplateRow{},
		schedules: map[string]ledger.ScheduleRow{},
	}
	l.Ledger = ledger.New(rows{l}, options...)
	return l
}

// begin locks the ledger and reads its clock, once a transaction. Times are
// kept to the microsecond, as databases keep them.
func (l *Ledger) begin(ctx context.Context) (now time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return now, fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	l.mu.Lock()
	return l.now().Add(l.ahead).UTC().Truncate(time.Microsecond), nil
}

var errReadOnly = errors.New("a read must not write")

// rows is the ledger.Rows of the memory. Its transactions are tx.
type rows struct{ l *Ledger }

// Write runs f with the ledger locked. If f fails, it takes back what f wrote.
func (r rows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	now, err := r.l.begin(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.l.mu.Unlock()
	t := &tx{l: r.l, now: now}
	if err = f(t); err == nil {
		err = t.failed
	}
	if err != nil {
		for _, undo := range slices.Backward(t.undo) {
			undo()
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Read runs f with the ledger locked, as a Write does. If f writes, Read takes that back and
// returns an error: a database would refuse it.
func (r rows) Read(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.Write(ctx, name, func(t ledger.Tx) error {
		if err := f(t); err != nil || len(t.(*tx).undo) == 0 {
			return err
		}
		return errReadOnly
	})
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

// Package simulate runs the whole system in virtual time: executors, a ledger,
// targets that keep keys as the kit does, a platform that delivers events, and
// operators, under the faults that are drawn from a seed. The result is evidence for
// package proof.
//
// Everything random is drawn from the seed by name (which process, which
// operation, which time), not from one stream, so that what one goroutine does
// first changes nothing of what another draws. Every operation takes a time of its
// own length, so that two things hardly ever happen at the same virtual time, and a
// seed repeats the same simulation. What remains to chance is the order of the
// goroutines of one process at the same virtual time.
package simulate

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/schedule"
)

// Options replace parts of the system by broken ones, which the checker must
// detect. The zero value is the product as it is.
type Options struct {
	// Open opens the ledger, which reads this clock; default: rows in memory.
	Open   func(ctx context.Context, now func() time.Time) (ledger.Store, error)
	Ledger func(ledger.Store, World) ledger.Store       // before the ledger, for every process
	Caller func(executor.Caller, World) executor.Caller // before the network, of every process
	Asks   func(executor.Ledger, World) executor.Ledger // what an executor asks of its ledger
	// Key makes a call's idempotency key; default its run ID.
	Key    func(executor.Call, World) string
	Target Flaws
	// Careless processes look at the time a while before they send.
	Careless bool
	// FirstLease counts the time of a function without a ledger from its own
	// lease, not from the scheduled time.
	FirstLease bool
	// Floor makes the scheduled time of a platform's event; default Schedule.Last.
	Floor func(s *schedule.Schedule, at time.Time) time.Time
	// EventsOnly is a deployment of functions on a ledger: no daemon, no tick.
	EventsOnly bool
	// ScheduledTimes returns the scheduled times that an operator backfills of a span;
	// by default those of the schedules that planned them.
	ScheduledTimes func(w *proof.Witness, j jobs.Job, from, to time.Time) []time.Time
}

// World is what a broken part may use of the system around it.
type World interface {
	// Dice are drawn from the seed, for this name and number.
	Dice(name string, n int) *rand.Rand
	// Now is the ledger's clock.
	Now() time.Time
	// Current is the newest registry.
	Current() *jobs.Registry
}

// Tally counts what happened in a simulation.
type Tally struct {
	Starts, Kills, Stops, Freezes, Leaps, Jumps   int
	Outages, Unavailable, LostAnswers             int
	Calls, LostCalls, LateCalls, Doubles, Replays int
	Edits, Pauses, Backfills, Redrives, Cancels   int
	Triggers, Ticks, Purges, Events, Keyed        int
	Schedules                                     int // made, changed and deleted at run time
	Lists                                         int // of members that were served
	Maintenance                                   int // pauses and holds that were made and changed
}

// Add sums two tallies.
func (t *Tally) Add(o Tally) {
	for i, p := range t.fields() {
		*p += *o.fields()[i]
	}
}

func (t *Tally) fields() []*int {
	return []*int{
		&t.Starts, &t.Kills, &t.Stops, &t.Freezes, &t.Leaps, &t.Jumps,
		&t.Outages, &t.Unavailable, &t.LostAnswers,
		&t.Calls, &t.LostCalls, &t.LateCalls, &t.Doubles, &t.Replays,
		&t.Edits, &t.Pauses, &t.Backfills, &t.Redrives, &t.Cancels,
		&t.Triggers, &t.Ticks, &t.Purges, &t.Events, &t.Keyed, &t.Schedules, &t.Lists, &t.Maintenance,
	}
}

// world is one simulation: the system and its surroundings.
type world struct {
	seed       uint64
	options    Options
	faultRates faultRates
	engine     ledger.Store
	witness    *proof.Witness
	ledger     ledger.Store // the witness, for processes
	targets    map[string]*target
	tasks      sync.WaitGroup // what goes on beside the script: calls at targets, events

	mu       sync.Mutex
	versions []*jobs.Registry
	ahead    time.Duration // the sum of the clocks' jumps
	down     time.Time     // the ledger cannot be reached until then
	calm     bool          // no more faults
	quiet    chan struct{} // closed with calm
	given    map[string]bool
	keyed    map[string]proof.Keyed // scheduled times of functions without a ledger
	healthy  time.Time              // real time: since then all is well
	tally    Tally
	born     int
	err      error // the first that no fault excuses
}

func newWorld(seed uint64, o Options) *world {
	w := &world{
		seed: seed, options: o, given: map[string]bool{}, keyed: map[string]proof.Keyed{},
		targets: map[string]*target{}, quiet: make(chan struct{}),
	}
	if w.options.Open == nil {
		w.options.Open = func(_ context.Context, now func() time.Time) (ledger.Store, error) {
			return memory.WithClock(now, ledger.SlotScanBatch(2)), nil
		}
	}
	if w.options.Floor == nil {
		w.options.Floor = (*schedule.Schedule).Last
	}
	if w.options.ScheduledTimes == nil {
		w.options.ScheduledTimes = func(w *proof.Witness, j jobs.Job, from, to time.Time) []time.Time {
			return w.ScheduledTimes(j.ID, from, to)
		}
	}
	if w.options.Key == nil {
		w.options.Key = func(c executor.Call, _ World) string { return c.RunID }
	}
	w.faultRates = drawFaultRates(w.Dice("faultRates", 0))
	return w
}

// open opens the ledger.
func (w *world) open(ctx context.Context) (err error) {
	if w.engine, err = w.options.Open(ctx, w.Now); err != nil {
		return err
	}
	inner := w.engine
	if w.options.Ledger != nil {
		inner = w.options.Ledger(inner, w)
	}
	w.witness = proof.NewWitness(inner, w.Now)
	w.ledger = w.witness
	return nil
}

// Dice are random numbers for one purpose.
func (w *world) Dice(name string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", name, n)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// Now is the clock that the ledger reads; a target's differs by its skew.
func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead).Round(0).UTC() // without the monotonic reading
}

// Current is the newest registry.
func (w *world) Current() *jobs.Registry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.versions[len(w.versions)-1]
}

// jump moves all clocks at once.
func (w *world) jump(d time.Duration) {
	w.witness.ClockJumps(d) // first: the ledger may act on it at once
	w.mu.Lock()
	w.ahead += d
	w.mu.Unlock()
}

// jumped is the sum of the clocks' jumps.
func (w *world) jumped() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ahead
}

func (w *world) note(add func(*Tally)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.tally)
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

func (w *world) isDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.down)
}

// settle ends all faults.
func (w *world) settle() {
	w.mu.Lock()
	w.calm, w.down = true, time.Time{}
	w.mu.Unlock()
	for _, t := range w.targets {
		t.rise()
	}
	close(w.quiet)
}

// faultRates are the probabilities of each fault in one simulation.
type faultRates struct {
	unavailable, lost, crash, slow       float64 // of an operation on the ledger
	cut, mute, late, twice, unsent       float64 // of a call
	failing, permanent, crawling, broken float64 // of a target's work
}

// drawFaultRates draws rates for one simulation: some have few faults, some every kind.
func drawFaultRates(r *rand.Rand) faultRates {
	factor := []float64{0.2, 1, 1, 3}[r.IntN(4)]
	p := func(highest float64) float64 { return min(0.5, factor*highest*r.Float64()) }
	return faultRates{
		unavailable: p(0.02), lost: p(0.02), crash: p(0.001), slow: p(0.02),
		cut: p(0.1), mute: p(0.1), late: p(0.05), twice: p(0.05), unsent: p(0.03),
		failing: p(0.1), permanent: p(0.01), crawling: p(0.15), broken: p(0.05),
	}
}

// chance reports whether something of this likelihood happens.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// between draws a duration, short ones as likely as long ones.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)+1))
}

// moment is how long the shortest operation takes. Two operations hardly ever take
// the same time: those at the same virtual time happen in any order.
func moment(r *rand.Rand) time.Duration { return between(r, 20*time.Microsecond, time.Millisecond) }

func (w *world) moment(name string, n int) time.Duration { return moment(w.Dice(name, n)) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var errDown = fmt.Errorf("%w: simulated", ledger.ErrUnavailable)

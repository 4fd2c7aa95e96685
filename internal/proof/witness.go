package proof

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Witness is a ledger that notes what a checker must know and the ledger's rows
// do not say: which definition was current when, what was purged, who held
// which lease. It answers as the ledger behind it does, one request at a time.
type Witness struct {
	ledger.Store
	mu        sync.Mutex
	known     map[string]jobs.Job // by job and hash
	holds     map[string]bool     // process and job -> it declares the job
	revisions map[string][]revision
	runs      map[string]*history
	slots     map[string]string // job -> the run that was leased last with the slot
	now       func() time.Time  // the ledger's clock
	paused    map[string]bool
	pauses    map[int64]ledger.Pause
	open      map[string]map[string]bool // job -> its unfinished runs that have the slot or wait for it
	claims    int
	alive     time.Time     // the latest heartbeat of any process
	down      time.Duration // all times without one

	purged   []ledger.Run
	removed  []Removal
	attempts map[string][]ledger.Attempt // of what was purged
	renewed  map[string]int
	returned map[string]int
	problems map[Problems]int
	frozen   map[string][]ledger.Member // lists of parents, as they were when members were made of them
	seen     []Violation
}

type revision struct {
	Revision
	number int64
	job    jobs.Job
}

// history is what the Witness knows of a run.
type history struct {
	token   string // of its latest lease
	settled string // of its latest lease that was recorded
	slotted bool
	pace    ledger.Pace
	forced  bool // an operator let it start beside the slot: it is not checked
	active  bool // leased before, and not ended since

	call      ledger.CallSpec
	number    int       // of its latest lease's attempt
	failed    int       // attempts, since its retries began anew
	notBefore time.Time // on the ledger's clock: its next retry
	jumped    bool      // the clock was set back while it was leased: how long it waits then is not known
	begun     mark      // its first lease
	first     time.Time // the same, even if its time is counted anew
	ended     mark
}

// mark is a moment of real time, which no clock's jump moves, and how long
// no process had run until then.
type mark struct {
	at   time.Time
	down time.Duration
}

// NewWitness stands before a ledger that reads this clock.
func NewWitness(s ledger.Store, now func() time.Time) *Witness {
	return &Witness{
		Store: s, known: map[string]jobs.Job{}, holds: map[string]bool{}, revisions: map[string][]revision{},
		runs: map[string]*history{}, slots: map[string]string{}, now: now, alive: time.Now(), paused: map[string]bool{}, pauses: map[int64]ledger.Pause{},
		open: map[string]map[string]bool{}, attempts: map[string][]ledger.Attempt{}, renewed: map[string]int{}, returned: map[string]int{},
		problems: map[Problems]int{}, frozen: map[string][]ledger.Member{},
	}
}

// Evidence is what the Witness knows, with the ledger's rows. Revisions that have
// not ended reach up to now.
func (w *Witness) Evidence(ctx context.Context, now time.Time) (Evidence, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows, err := w.Store.List(ctx, ledger.Filter{WithMembers: true, Limit: math.MaxInt})
	if err != nil {
		return Evidence{}, err
	}
	e := Evidence{
		Rows: append(slices.Clone(w.purged), rows...), Removed: w.removed,
		Renewed: w.renewed, Returned: w.returned, Attempts: maps.Clone(w.attempts),
		Problems: maps.Clone(w.problems), Frozen: maps.Clone(w.frozen),
	}
	if e.Incidents, err = w.incidents(ctx, ledger.IncidentFilter{}); err != nil {
		return e, err
	}
	e.Took, e.Begun = w.took()
	for _, r := range rows {
		_, list, err := w.Store.Get(ctx, r.ID)
		if err == nil && r.Fan.Frozen() {
			err = w.counted(ctx, r)
		}
		if err != nil {
			return e, err
		}
		e.Attempts[r.ID] = append(e.Attempts[r.ID], list...)
	}
	e.Seen = slices.Clone(w.seen)
	for _, id := range slices.Sorted(maps.Keys(w.revisions)) {
		for _, ep := range w.revisions[id] {
			if ep.Open {
				ep.To = now
				if ep.job.Spread > 0 {
					ep.To = ep.job.DueBy(now.Add(-planning))
				}
			}
			e.Revisions = append(e.Revisions, ep.Revision)
		}
	}
	return e, nil
}

// planning is the time after its delay in which a run may be planned at the end of a simulation, which
// ends well after the last scheduled times, but not after their delays.
const planning = 10 * time.Second

// ScheduledTimes returns the scheduled times of a job in (from, to] by the definitions
// that planned them.
func (w *Witness) ScheduledTimes(jobID string, from, to time.Time) (list []time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.revisions[jobID] {
		end := to
		if !e.Open && e.To.Before(to) {
			end = e.To
		}
		begin := from
		if e.From.After(from) {
			begin = e.From
		}
		list = slices.AppendSeq(list, e.Schedule.Due(begin, end))
	}
	return list
}

func (w *Witness) run(id string) *history {
	h := w.runs[id]
	if h == nil {
		h = &history{}
		w.runs[id] = h
	}
	return h
}

func (w *Witness) saw(rule Rule, of, what string, args ...any) {
	w.seen = append(w.seen, Violation{rule, of, fmt.Sprintf(what, args...)})
}

// begin notes a job's new revision.
func (w *Witness) begin(at ledger.Position, hash string) {
	list := w.revisions[at.JobID]
	if n := len(list); hash == "" || n > 0 && list[n-1].number >= at.Revision {
		return
	}
	job, known := w.known[at.JobID+" "+hash]
	if !known {
		return // a template
	}
	w.revisions[at.JobID] = append(list, revision{
		Revision{JobID: at.JobID, Schedule: job.ParsedSchedule(), From: at.Watermark, Open: true}, at.Revision, job,
	})
}

// end notes that a job's revision ended.
func (w *Witness) end(jobID string, at time.Time) {
	if list := w.revisions[jobID]; len(list) > 0 {
		last := &list[len(list)-1]
		last.Open, last.To = false, at
	}
}

// leased notes leases that a process got at a time of the store's clock. The
// clock may have jumped since, so it is not read again.
func (w *Witness) leased(now time.Time, work ...ledger.Work) {
	for _, l := range work {
		h := w.run(l.RunID)
		if h.token == l.Token {
			continue // the same lease, told again
		}
		if now.Add(time.Millisecond).Before(h.notBefore) {
			w.saw(Hasty, l.RunID, "at %s, due at %s", stamp(now), stamp(h.notBefore))
		}
		if h.begun.at.IsZero() {
			h.begun = w.mark()
		}
		if h.first.IsZero() {
			h.first = h.begun.at
		}
		h.token, h.active, h.call, h.notBefore, h.number = l.Token, true, l.Call, time.Time{}, l.Attempt
		h.jumped = false
		w.outOfTurn(l, now)
		if !h.slotted || h.forced || ledger.IsAdHoc(l.RunID) {
			continue
		}
		if other := w.slots[l.JobID]; other != "" && other != l.RunID && w.run(other).active && w.run(other).slotted {
			w.saw(Overlapped, l.RunID, "leased while %s is unfinished", other)
		}
		w.slots[l.JobID] = l.RunID
	}
}

// ClockJumps tells that the ledger's clock is about to jump by d. If it is set back, what
// waits may go on waiting from there: see ledger.ClockStep.
func (w *Witness) ClockJumps(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.runs {
		if d < 0 && !h.notBefore.IsZero() {
			h.notBefore = h.notBefore.Add(d)
		}
		h.jumped = h.jumped || d < 0 && h.active
	}
}

// recorded notes an outcome that the ledger took at a time of its clock.
func (w *Witness) recorded(o ledger.Outcome, at time.Time) {
	h := w.run(o.RunID)
	switch o.Token {
	case h.settled: // told again
		return
	case h.token:
	default:
		w.saw(Unfenced, o.RunID, "attempt %d became %s", o.Attempt.N, o.State)
	}
	h.settled = o.Token
	if o.State.Finished() {
		w.ended(o.RunID, ledger.JobOf(o.RunID))
	}
	if o.State == ledger.Accepted { // its target answers: it gets its retries back
		h.failed, w.renewed[o.RunID] = 0, h.number
		if o.Attempt.N == 0 {
			w.renewed[o.RunID], w.returned[o.RunID] = h.number-1, h.number
		}
	}
	switch o.Attempt.Answer {
	case ledger.AnswerFailed, ledger.AnswerThrottled, ledger.AnswerUnknown:
		if h.failed++; h.failed <= len(h.call.Backoff) {
			least := float64(h.call.Backoff[h.failed-1]) * (1 - max(h.call.Jitter, 0))
			if !h.jumped {
				h.notBefore = at.Add(time.Duration(least))
			}
		}
	}
}

package simulate

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// process is what stands between one executor and everything else. While it is
// frozen nothing goes out or comes in; once it is killed nothing ever does, whatever
// the goroutines that it leaves behind still try.
type process struct {
	w      *world
	id     string
	cancel context.CancelFunc // of its executor
	caller executor.Caller
	gone   chan struct{}
	ledger executor.Ledger
	skew   time.Duration // how wrong it is about the ledger's clock

	mu     sync.Mutex
	dead   bool
	frozen time.Time      // until then
	heard  time.Duration  // how far the clocks had jumped when it last heard of the ledger's
	count  map[string]int // of each kind of operation
}

func (w *world) newProcess(ctx context.Context, id string) (*process, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{w: w, id: id, cancel: cancel, gone: make(chan struct{}), count: map[string]int{}, ledger: w.ledger, heard: w.jumped()}
	if r := w.Dice("clock "+id, 0); r.IntN(3) == 0 {
		p.skew = between(r, 0, 5*time.Second+300*time.Millisecond) - 5*time.Second
	}
	p.caller = (*network)(p)
	if w.options.Caller != nil {
		p.caller = w.options.Caller(p.caller, w)
	}
	return p, ctx
}

// source is what its executor draws tokens and jitter from.
func (p *process) source() rand.Source {
	r := p.w.Dice("source "+p.id, 0)
	return rand.NewPCG(r.Uint64(), r.Uint64())
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return
	}
	p.dead = true
	close(p.gone)
	p.cancel()
	p.w.note(func(t *Tally) { t.Kills++ })
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) freeze(d time.Duration) {
	p.mu.Lock()
	p.frozen = time.Now().Add(d)
	p.mu.Unlock()
	p.w.note(func(t *Tally) { t.Freezes++ })
}

// thaw waits until the process runs. What of it waited for that goes on at
// times of its own, so that one simulation is like the other.
func (p *process) thaw(op string) {
	for n := 0; ; n++ {
		p.mu.Lock()
		left := time.Until(p.frozen)
		p.mu.Unlock()
		if left <= 0 || p.isDead() {
			return
		}
		p.wait(context.Background(), left+p.w.moment(p.id+" thaw "+op, p.next("thaw "+op)))
	}
}

// wait waits for d, or until the process is killed or ctx ends.
func (p *process) wait(ctx context.Context, d time.Duration) {
	select {
	case <-p.gone:
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// next numbers the operations of a kind.
func (p *process) next(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count[op]++
	return p.count[op]
}

// fault is what befalls one operation on the ledger.
type fault struct {
	before, after       time.Duration // how long it takes to get there, and back
	unavailable, lost   bool          // not applied; applied, and the answer lost
	dieBefore, dieAfter bool
}

func (p *process) fault(op string) (f fault) {
	r, now := p.w.Dice(p.id+op, p.next(op)), p.w.faultRates
	f.before, f.after = moment(r), moment(r)
	if p.w.isCalm() {
		return f
	}
	f.unavailable, f.lost = chance(r, now.unavailable), chance(r, now.lost)
	f.dieBefore, f.dieAfter = chance(r, now.crash), chance(r, now.crash)
	if chance(r, now.slow) {
		f.before = between(r, time.Millisecond, pick(r, 100*time.Millisecond, 2*time.Second, 20*time.Second))
	}
	if chance(r, now.slow) {
		f.after = between(r, time.Millisecond, pick(r, 100*time.Millisecond, 2*time.Second, 20*time.Second))
	}
	return f
}

// through takes one operation to the ledger and its answer back.
func through[T any](ctx context.Context, p *process, op string, do func() (T, error)) (got T, err error) {
	var none T
	f := p.fault(op)
	p.thaw(op)
	p.wait(ctx, f.before)
	p.thaw(op)
	if f.dieBefore {
		p.kill()
	}
	if p.isDead() || p.w.isDown() || f.unavailable {
		p.w.note(func(t *Tally) { t.Unavailable++ })
		return none, errDown
	}
	got, err = do()
	jumped := p.w.jumped()
	if f.dieAfter {
		p.kill()
	}
	p.wait(ctx, f.after)
	p.thaw(op)
	if p.isDead() || f.lost {
		p.w.note(func(t *Tally) { t.LostAnswers++ })
		return none, errDown
	}
	if _, own := p.ledger.(*ledger.Single); err == nil && tells[op] && !own {
		p.hear(jumped)
	}
	return got, err
}

// tells are the operations whose answers say the ledger's time.
var tells = map[string]bool{"beat": true, "admit": true, "enter": true, "claim": true, "plan": true}

func (p *process) hear(jumped time.Duration) {
	p.mu.Lock()
	p.heard = jumped
	p.mu.Unlock()
}

// knows is how far the clocks had jumped when the process last heard of the
// ledger's.
func (p *process) knows() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}

// told is what the process takes an answer's time for.
func (p *process) told(now time.Time) time.Time {
	if now.IsZero() || p.w.isCalm() {
		return now
	}
	return now.Add(p.skew)
}

type nothing struct{}

func (p *process) Declare(ctx context.Context, d ledger.Declaration) error {
	_, err := through(ctx, p, "declare", func() (nothing, error) { return nothing{}, p.ledger.Declare(ctx, d) })
	return err
}

func (p *process) Heartbeat(ctx context.Context, id string) (ledger.HeartbeatReply, error) {
	got, err := through(ctx, p, "beat", func() (ledger.HeartbeatReply, error) { return p.ledger.Heartbeat(ctx, id) })
	got.Now = p.told(got.Now)
	return got, err
}

func (p *process) Deregister(ctx context.Context, id string) error {
	_, err := through(ctx, p, "deregister", func() (nothing, error) { return nothing{}, p.ledger.Deregister(ctx, id) })
	return err
}

func (p *process) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	return through(ctx, p, "assignments", func() ([]ledger.JobAssignment, error) { return p.ledger.Assignments(ctx, version, after) })
}

func (p *process) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	got, err := through(ctx, p, "admit", func() (ledger.Admitted, error) { return p.ledger.Admit(ctx, a) })
	got.Now = p.told(got.Now)
	return got, err
}

func (p *process) PlanSchedules(ctx context.Context, s ledger.SchedulePlanning) (ledger.PlannedSchedules, error) {
	got, err := through(ctx, p, "plan", func() (ledger.PlannedSchedules, error) { return p.ledger.PlanSchedules(ctx, s) })
	got.Now = p.told(got.Now)
	return got, err
}

func (p *process) SweepSchedules(ctx context.Context, s ledger.ScheduleSweep) (int64, error) {
	return through(ctx, p, "sweep", func() (int64, error) { return p.ledger.SweepSchedules(ctx, s) })
}

func (p *process) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	got, err := through(ctx, p, "enter", func() (ledger.Entered, error) { return p.ledger.Enter(ctx, e) })
	got.Now = p.told(got.Now)
	return got, err
}

func (p *process) Claim(ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
	got, err := through(ctx, p, "claim", func() (ledger.Claimed, error) { return p.ledger.Claim(ctx, c) })
	got.Now = p.told(got.Now)
	return got, err
}

func (p *process) FreezeMembers(ctx context.Context, f ledger.Freeze) (ledger.RecordResult, error) {
	return through(ctx, p, "freeze", func() (ledger.RecordResult, error) { return p.ledger.FreezeMembers(ctx, f) })
}

func (p *process) ReleaseMembers(ctx context.Context, in ledger.ReleaseRequest) (ledger.Released, error) {
	got, err := through(ctx, p, "release", func() (ledger.Released, error) { return p.ledger.ReleaseMembers(ctx, in) })
	if !got.Now.IsZero() {
		got.Now = p.told(got.Now)
	}
	return got, err
}

func (p *process) LeasedWork(ctx context.Context, token string) ([]ledger.Work, error) {
	return through(ctx, p, "recall", func() ([]ledger.Work, error) { return p.ledger.LeasedWork(ctx, token) })
}

func (p *process) Extend(ctx context.Context, l []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
	return through(ctx, p, "extend", func() ([]ledger.Lease, error) { return p.ledger.Extend(ctx, l, d) })
}

func (p *process) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	return through(ctx, p, "record", func() ([]ledger.RecordResult, error) { return p.ledger.Record(ctx, o) })
}

func (p *process) Get(ctx context.Context, runID string) (run ledger.Run, attempts []ledger.Attempt, err error) {
	run, err = through(ctx, p, "get", func() (ledger.Run, error) {
		got, list, err := p.ledger.Get(ctx, runID)
		attempts = list
		return got, err
	})
	return run, attempts, err
}

// Call is the executor's way out.
func (p *process) Call(ctx context.Context, c executor.Call) executor.Answer {
	a := p.caller.Call(ctx, c)
	p.thaw(c.RunID)
	return a
}

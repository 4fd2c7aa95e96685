package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// recordBatch bounds the outcomes in one statement.
	recordBatch = 500
	// recordBacklog is how many outcomes may wait to be written before nothing
	// more is admitted or claimed. Where one writer takes turns, as in SQLite,
	// admissions could otherwise keep the recorder waiting, and each outcome
	// that waits is memory here and a call to be repeated after a crash.
	recordBacklog = 4 * recordBatch
	// gather is how long the recorder waits for company while more calls are
	// in flight.
	gather = 3 * time.Millisecond
)

// recorder writes outcomes to the ledger in batches. What is put in it is
// asked of the ledger until the ledger answers; what waits is bounded by the
// leases that this process holds, and those by what fits in flight, aheadLimit
// and recordBacklog together.
type recorder struct {
	e     *Executor
	ready chan struct{}

	mu      sync.Mutex
	pending []settled     // batches, each at most recordBatch long
	spare   settled       // an empty one, whose memory the next takes over
	writing chan struct{} // holds a signal while a batch is being written
	pace    pace
}

// settled are outcomes, as the ledger takes them, and beside each what is to be
// known of its run when it is written. While the ledger is slow there may be
// many, so the requests are not among it.
type settled struct {
	outcomes []ledger.Outcome
	runs     []ran
}

type ran struct {
	jobID   string
	trigger ledger.Trigger
	attempt int
}

func (s *settled) add(o ledger.Outcome, r ran) {
	s.outcomes, s.runs = append(s.outcomes, o), append(s.runs, r)
}

// empty takes everything out and keeps the place for as much.
func (s *settled) empty() {
	clear(s.outcomes)
	clear(s.runs)
	s.outcomes, s.runs = s.outcomes[:0], s.runs[:0]
}

// one is the batch of the outcome at i alone.
func (s settled) one(i int) settled { return settled{s.outcomes[i : i+1], s.runs[i : i+1]} }

func (s settled) len() int { return len(s.outcomes) }

func newRecorder(e *Executor) *recorder {
	return &recorder{e: e, ready: make(chan struct{}, 1), writing: make(chan struct{}, 1)}
}

func (r *recorder) put(o ledger.Outcome, w ledger.Work) {
	r.keep(o, ran{w.JobID, w.Trigger, w.Attempt})
}

func (r *recorder) keep(o ledger.Outcome, of ran) {
	r.mu.Lock()
	last := len(r.pending) - 1
	if last < 0 || r.pending[last].len() == recordBatch {
		r.pending, last = append(r.pending, r.spare), last+1
		r.spare = settled{}
	}
	r.pending[last].add(o, of)
	r.mu.Unlock()
	signal(r.ready)
}

// behind reports whether so much waits to be written that nothing more is to
// be leased. The next batch that is written wakes the loop.
func (r *recorder) behind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.pending) - 1
	return last >= 0 && last*recordBatch+r.pending[last].len() > recordBacklog
}

func (r *recorder) take() settled {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		return settled{}
	}
	batch := r.pending[0]
	r.pending[0] = settled{} // written, it is not kept
	if r.pending = r.pending[1:]; len(r.pending) > 0 {
		signal(r.ready)
	}
	return batch
}

// reuse keeps the memory of a batch that the ledger has, and nothing that was
// in it. One is enough: the next gathers while this one is written.
func (r *recorder) reuse(batch settled) {
	batch.empty()
	r.mu.Lock()
	r.spare = batch
	r.mu.Unlock()
}

func (r *recorder) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.ready:
		}
		if in, _, _ := r.e.queue.size(); in > 0 {
			pause(ctx, gather)
		}
		r.flush(ctx)
	}
}

// drain writes all that is left, while ctx lasts.
func (r *recorder) drain(ctx context.Context) {
	for ctx.Err() == nil && r.flush(ctx) > 0 {
	}
}

// flush writes one batch, asking a failing ledger again while ctx lasts.
func (r *recorder) flush(ctx context.Context) int {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done(): // at a stop: whoever writes waits for a ledger that does not answer
		return 0
	}
	batch := r.take()
	wait := 50 * time.Millisecond
	for batch.len() > 0 {
		err := r.write(ctx, batch)
		switch {
		case err == nil:
			n := batch.len()
			r.reuse(batch)
			return n
		case ctx.Err() != nil:
			r.e.cfg.Logger.Error("outcomes not recorded; their leases will expire and the runs will be retried", "runs", batch.len(), "error", err)
			return batch.len()
		case !errors.Is(err, ledger.ErrUnavailable):
			r.writeIndividually(ctx, batch, err)
			return batch.len()
		}
		wait = min(2*wait, 5*time.Second)
		pause(ctx, jittered(wait, 0.2, r.e.random.float64))
	}
	return 0
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// apart writes the outcomes one by one, so that one that the ledger cannot
// take does not hold up the others.
func (r *recorder) writeIndividually(ctx context.Context, batch settled, err error) {
	if batch.len() == 1 {
		o := batch.outcomes[0]
		r.e.held.drop(o.Lease)
		r.e.cfg.Logger.Error("outcome rejected by the ledger; the lease will expire", "run", o.RunID, "error", err)
		return
	}
	for i := range batch.outcomes {
		err := r.write(ctx, batch.one(i))
		switch {
		case err == nil:
		case errors.Is(err, ledger.ErrUnavailable): // it went down meanwhile
			r.keep(batch.outcomes[i], batch.runs[i])
		default:
			r.writeIndividually(ctx, batch.one(i), err)
		}
	}
}

func (r *recorder) write(ctx context.Context, batch settled) error {
	start := time.Now()
	fates, err := r.e.cfg.Ledger.Record(ctx, batch.outcomes)
	if err = r.e.asked("record", start, err); err != nil {
		return err
	}
	in, waiting, _ := r.e.queue.size()
	r.e.queue.pace(r.pace.add(batch.len(), time.Now(), in+waiting == 0, r.e.cfg.MaxInFlight))
	for i, o := range batch.outcomes {
		r.settle(o, batch.runs[i], fates[i])
	}
	signal(r.e.wake)
	return nil
}

func (r *recorder) settle(o ledger.Outcome, of ran, fate ledger.RecordResult) {
	r.e.held.drop(o.Lease)
	r.e.cfg.Observer.Settled(o, of.jobID, fate)
	if fate == ledger.Fenced {
		r.e.cfg.Logger.Warn("lease lost; result discarded", "run", o.RunID, "attempt", of.attempt, "state", o.State)
		return
	}
	switch {
	case !o.State.Finished():
		r.e.claims.want(time.Now().Add(o.Wait))
	case r.e.mayWait(of):
		r.e.claims.want(time.Now())
	}
}

// mayWait reports whether other runs of the job may wait for this one's slot.
func (e *Executor) mayWait(of ran) bool {
	if of.trigger == ledger.ByBackfill {
		return true
	}
	j, _ := e.cfg.Registry.Job(of.jobID)
	return j.Overlap == jobs.OverlapQueue || j.CatchUp == jobs.CatchUpAll
}

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
	pending [][]settled   // batches, each at most recordBatch long
	writing chan struct{} // holds a signal while a batch is being written
	pace    pace
}

// settled is an outcome and what is to be known of its run when it is written.
// While the ledger is slow there may be many, so the request is not among it.
type settled struct {
	ledger.Outcome
	jobID   string
	trigger ledger.Trigger
	attempt int
}

func newRecorder(e *Executor) *recorder {
	return &recorder{e: e, ready: make(chan struct{}, 1), writing: make(chan struct{}, 1)}
}

func (r *recorder) put(o ledger.Outcome, w ledger.Work) {
	r.keep(settled{o, w.JobID, w.Trigger, w.Attempt})
}

func (r *recorder) keep(s settled) {
	r.mu.Lock()
	last := len(r.pending) - 1
	if last < 0 || len(r.pending[last]) == recordBatch {
		r.pending, last = append(r.pending, nil), last+1
	}
	r.pending[last] = append(r.pending[last], s)
	r.mu.Unlock()
	signal(r.ready)
}

// behind reports whether so much waits to be written that nothing more is to
// be leased. The next batch that is written wakes the loop.
func (r *recorder) behind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.pending) - 1
	return last >= 0 && last*recordBatch+len(r.pending[last]) > recordBacklog
}

func (r *recorder) take() []settled {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		return nil
	}
	batch := r.pending[0]
	r.pending[0] = nil // written, it is not kept
	if r.pending = r.pending[1:]; len(r.pending) > 0 {
		signal(r.ready)
	}
	return batch
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
	for len(batch) > 0 {
		err := r.write(ctx, batch)
		switch {
		case err == nil:
			return len(batch)
		case ctx.Err() != nil:
			r.e.cfg.Logger.Error("outcomes could not be recorded; their leases will lapse and another attempt asks again under the same run-ids", "runs", len(batch), "error", err)
			return len(batch)
		case !errors.Is(err, ledger.ErrUnavailable):
			r.apart(ctx, batch, err)
			return len(batch)
		}
		wait = min(2*wait, 5*time.Second)
		pause(ctx, jittered(wait, 0.2, r.e.dice.share))
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
func (r *recorder) apart(ctx context.Context, batch []settled, err error) {
	if len(batch) == 1 {
		r.e.held.drop(batch[0].Lease)
		r.e.cfg.Logger.Error("the ledger refuses this outcome; the run's lease will lapse", "run", batch[0].RunID, "error", err)
		return
	}
	for i := range batch {
		err := r.write(ctx, batch[i:i+1])
		switch {
		case err == nil:
		case errors.Is(err, ledger.ErrUnavailable): // it went down meanwhile
			r.keep(batch[i])
		default:
			r.apart(ctx, batch[i:i+1], err)
		}
	}
}

func (r *recorder) write(ctx context.Context, batch []settled) error {
	outcomes := make([]ledger.Outcome, len(batch))
	for i, s := range batch {
		outcomes[i] = s.Outcome
	}
	start := time.Now()
	fates, err := r.e.cfg.Ledger.Record(ctx, outcomes)
	if err = r.e.asked("record", start, err); err != nil {
		return err
	}
	in, waiting, _ := r.e.queue.size()
	r.e.queue.pace(r.pace.add(len(batch), time.Now(), in+waiting == 0, r.e.cfg.MaxInFlight))
	for i, s := range batch {
		r.settle(s, fates[i])
	}
	signal(r.e.wake)
	return nil
}

func (r *recorder) settle(s settled, fate ledger.Fate) {
	r.e.held.drop(s.Lease)
	r.e.cfg.Observer.Settled(s.Outcome, s.jobID, fate)
	if fate == ledger.Late {
		r.e.cfg.Logger.Warn("outcome refused: the lease was lost; another attempt has the run, or it was canceled", "run", s.RunID, "attempt", s.attempt, "state", s.State)
		return
	}
	switch {
	case !s.State.Finished():
		r.e.claims.want(time.Now().Add(s.Wait))
	case r.e.mayWait(s):
		r.e.claims.want(time.Now())
	}
}

// mayWait reports whether other runs of the job may wait for this one's slot.
func (e *Executor) mayWait(s settled) bool {
	j, _ := e.cfg.Registry.Job(s.jobID)
	return s.trigger == ledger.ByBackfill || j.Overlap == jobs.OverlapQueue || j.CatchUp == jobs.CatchUpAll
}

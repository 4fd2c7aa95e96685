package executor

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// recordBatch bounds the outcomes in one call of the ledger.
	recordBatch = 500
	// recordBacklog is the number of outcomes that may wait to be written before nothing
	// more is admitted or claimed. Where one writer takes turns, as in SQLite,
	// admissions could otherwise keep the recorder waiting, and each outcome
	// that waits is memory here and a call to be repeated after a crash.
	recordBacklog = 4 * recordBatch
	// gather is the time that the recorder waits for more outcomes while calls are
	// in flight.
	gather = 3 * time.Millisecond
)

// endedRuns is the part of the workset that the recorder uses: ended runs, oldest first, which it
// takes, gives back, and removes when their outcomes are written.
type endedRuns interface {
	nextEnded(n int) []*run
	requeue(*run)
	remove(...*run)
}

// recorder writes the outcomes of ended runs to the ledger, in batches and in
// their order. It asks the ledger again until it answers; what waits is bounded by
// the leases that this process holds.
type recorder struct {
	runs endedRuns
	// write is the ledger's Record.
	write func(context.Context, []ledger.Outcome) ([]ledger.RecordResult, error)
	// recorded is told what the ledger made of each outcome, before wake.
	recorded func(*run, ledger.RecordResult)
	// wake is called after each batch that was written.
	wake   func()
	random *random
	logger *slog.Logger

	writing chan struct{} // holds a signal while a batch is being written
}

// run writes outcomes as runs end, until ctx ends. busy reports whether more is to end soon, so
// that it is worth to wait for a larger batch.
func (r *recorder) run(ctx context.Context, unwritten signal, busy func() bool) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-unwritten:
		}
		if busy() {
			pause(ctx, gather)
		}
		r.flush(ctx)
	}
}

// drain writes all that has ended, while ctx lasts.
func (r *recorder) drain(ctx context.Context) {
	for ctx.Err() == nil && r.flush(ctx) {
	}
}

// flush writes one batch, asking a failing ledger again while ctx lasts. It
// reports whether there was one. When it returns, no earlier batch is still
// being written.
func (r *recorder) flush(ctx context.Context) bool {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done(): // at a stop, while another batch waits for a ledger that does not answer
		return false
	}
	batch := r.runs.nextEnded(recordBatch)
	if len(batch) == 0 {
		return false
	}
	r.persist(ctx, batch)
	return true
}

// persist writes a batch, and asks a failing ledger again until it answers or ctx ends.
func (r *recorder) persist(ctx context.Context, batch []*run) {
	err := untilAvailable(ctx, r.random, func() error { return r.record(ctx, batch) })
	switch {
	case err == nil:
	case ctx.Err() != nil:
		r.abandon(batch, err)
	case len(batch) == 1:
		r.reject(batch[0], err)
	default:
		r.recordEach(ctx, batch)
	}
}

// abandonRest gives up the outcomes that no batch took before the stop.
func (r *recorder) abandonRest() {
	if rest := r.runs.nextEnded(math.MaxInt); len(rest) > 0 {
		r.abandon(rest, ledger.ErrUnavailable)
	}
}

// abandon gives up outcomes at the stop. Their runs are called again under the same keys.
func (r *recorder) abandon(batch []*run, err error) {
	r.runs.remove(batch...)
	r.logger.Error("outcomes not recorded; their leases will expire and the runs will be retried", "runs", len(batch), "error", err)
}

// reject gives up an outcome that the ledger cannot take.
func (r *recorder) reject(one *run, err error) {
	r.runs.remove(one)
	r.logger.Error("outcome rejected by the ledger; the lease will expire", "run", one.RunID, "error", err)
}

// recordEach writes a batch that the ledger rejected one by one, so that an
// outcome that it cannot take does not hold up the others.
func (r *recorder) recordEach(ctx context.Context, batch []*run) {
	for _, one := range batch {
		err := r.record(ctx, []*run{one})
		switch {
		case err == nil:
		case errors.Is(err, ledger.ErrUnavailable): // it went down meanwhile
			r.runs.requeue(one)
		default:
			r.reject(one, err)
		}
	}
}

// record writes a batch in one call of the ledger. A result of Fenced is no error: the run is
// another process's by now.
func (r *recorder) record(ctx context.Context, batch []*run) error {
	outcomes := make([]ledger.Outcome, len(batch))
	for i, one := range batch {
		outcomes[i] = one.outcome
	}
	results, err := r.write(ctx, outcomes)
	if err != nil {
		return err
	}
	for i, one := range batch {
		r.recorded(one, results[i])
	}
	r.runs.remove(batch...)
	r.wake()
	return nil
}

package ledger

// Changes of one schedule each that are made at the same time share a transaction.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxChangeBatch is the maximum of changes in one transaction. A planner waits until it ends.
const maxChangeBatch = 100

// changeBatchTimeout bounds the transaction of several changes. No caller's
// deadline ends it: the outcome would be unknown to the others.
const changeBatchTimeout = 30 * time.Second

// changeBatches are the changes in progress. While a transaction of a template's changes
// runs, those that come form the next one: one commit, and one lock of the template, for all
// of them.
type changeBatches struct {
	mu   sync.Mutex
	next map[string]*changeBatch  // by template: the batch that takes more
	turn map[string]chan struct{} // by template: held by the batch in progress
}

// changeBatch has at most one change of a schedule: of two, the second must find the first
// done.
type changeBatch struct {
	changes []ChangeSchedulesRequest
	done    chan struct{}
	results [][]ScheduleResult
	err     error
}

// join makes a change together with others. If nothing was written, it makes it alone: each
// change has the outcome that it has alone. If that is unknown, only the caller can tell
// whether to make it again: another's change may have come after it.
func (b *changeBatches) join(
	ctx context.Context, c ChangeSchedulesRequest, write func(context.Context, []ChangeSchedulesRequest) ([][]ScheduleResult, error),
) ([]ScheduleResult, error) {
	batch, i, turn := b.enter(c)
	if i == 0 {
		b.lead(ctx, batch, turn, write)
	} else {
		select {
		case <-batch.done:
		case <-ctx.Done(): // the batch may still make the change
			return nil, fmt.Errorf("change schedules of %s: %w: %w", c.Template, ErrUnavailable, ctx.Err())
		}
	}
	switch {
	case batch.err == nil:
		return batch.results[i], nil
	case errors.Is(batch.err, ErrUnavailable) && !errors.Is(batch.err, errInsertedMeanwhile): // it may have been made
		return nil, batch.err
	case len(batch.changes) == 1 && !errors.Is(batch.err, errSplitBatch): // it was alone
		return nil, batch.err
	}
	return firstResult(write(ctx, []ChangeSchedulesRequest{c}))
}

// enter adds a change to its template's next batch, and returns the change's place there. The
// first one leads the batch.
func (b *changeBatches) enter(c ChangeSchedulesRequest) (batch *changeBatch, i int, turn chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next, b.turn = map[string]*changeBatch{}, map[string]chan struct{}{}
	}
	if b.turn[c.Template] == nil {
		b.turn[c.Template] = make(chan struct{}, 1)
	}
	batch = b.next[c.Template]
	if batch == nil || len(batch.changes) == maxChangeBatch || slices.ContainsFunc(batch.changes, func(other ChangeSchedulesRequest) bool {
		return other.Items[0].JobID == c.Items[0].JobID
	}) {
		batch = &changeBatch{done: make(chan struct{})}
		b.next[c.Template] = batch
	}
	batch.changes = append(batch.changes, c)
	return batch, len(batch.changes) - 1, b.turn[c.Template]
}

// lead waits for the batch's turn, and makes its changes.
func (b *changeBatches) lead(
	ctx context.Context, batch *changeBatch, turn chan struct{}, write func(context.Context, []ChangeSchedulesRequest) ([][]ScheduleResult, error),
) {
	defer close(batch.done)
	batch.err = errSplitBatch // if its turn does not come, or write panics
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
		b.close(batch)
		if len(batch.changes) > 1 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), changeBatchTimeout)
			defer cancel()
		}
		batch.results, batch.err = write(ctx, batch.changes)
	case <-ctx.Done():
		b.close(batch)
	}
}

// close lets the batch take no more changes.
func (b *changeBatches) close(batch *changeBatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if template := batch.changes[0].Template; b.next[template] == batch {
		delete(b.next, template)
	}
}

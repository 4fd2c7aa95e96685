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

// maxChangeGroup is the maximum of changes in one transaction. A planner waits until it ends.
const maxChangeGroup = 100

// changeGroupTime is how long the transaction of several changes takes at most. No caller's
// deadline ends it: the outcome would be unknown to the others.
const changeGroupTime = 30 * time.Second

// changeGroups are the changes in progress. While a transaction of a template's changes
// runs, those that come form the next one: one commit, and one lock of the template, for all
// of them.
type changeGroups struct {
	mu   sync.Mutex
	next map[string]*changeGroup  // by template: the group that takes more
	turn map[string]chan struct{} // by template: held by the group in progress
}

// changeGroup has at most one change of a schedule: of two, the second must find the first
// done.
type changeGroup struct {
	changes []ChangeSchedules
	done    chan struct{}
	results [][]ScheduleResult
	err     error
}

// join makes a change together with others. If nothing was written, it makes it alone: each
// change has the outcome that it has alone. If that is unknown, only the caller can tell
// whether to make it again: another's change may have come after it.
func (g *changeGroups) join(
	ctx context.Context, c ChangeSchedules, write func(context.Context, []ChangeSchedules) ([][]ScheduleResult, error),
) ([]ScheduleResult, error) {
	group, i, turn := g.enter(c)
	if i == 0 {
		g.lead(ctx, group, turn, write)
	} else {
		select {
		case <-group.done:
		case <-ctx.Done(): // the group may still make the change
			return nil, fmt.Errorf("change schedules of %s: %w: %w", c.Template, ErrUnavailable, ctx.Err())
		}
	}
	switch {
	case group.err == nil:
		return group.results[i], nil
	case errors.Is(group.err, ErrUnavailable) && !errors.Is(group.err, errInsertedMeanwhile): // it may have been made
		return nil, group.err
	case len(group.changes) == 1 && !errors.Is(group.err, errApart): // it was alone
		return nil, group.err
	}
	return first(write(ctx, []ChangeSchedules{c}))
}

// enter adds a change to its template's next group, and returns the change's place there. The
// first one leads the group.
func (g *changeGroups) enter(c ChangeSchedules) (group *changeGroup, i int, turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next, g.turn = map[string]*changeGroup{}, map[string]chan struct{}{}
	}
	if g.turn[c.Template] == nil {
		g.turn[c.Template] = make(chan struct{}, 1)
	}
	group = g.next[c.Template]
	if group == nil || len(group.changes) == maxChangeGroup || slices.ContainsFunc(group.changes, func(other ChangeSchedules) bool {
		return other.Items[0].JobID == c.Items[0].JobID
	}) {
		group = &changeGroup{done: make(chan struct{})}
		g.next[c.Template] = group
	}
	group.changes = append(group.changes, c)
	return group, len(group.changes) - 1, g.turn[c.Template]
}

// lead waits for the group's turn, and makes its changes.
func (g *changeGroups) lead(
	ctx context.Context, group *changeGroup, turn chan struct{}, write func(context.Context, []ChangeSchedules) ([][]ScheduleResult, error),
) {
	defer close(group.done)
	group.err = errApart // if its turn does not come, or write panics
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
		g.close(group)
		if len(group.changes) > 1 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), changeGroupTime)
			defer cancel()
		}
		group.results, group.err = write(ctx, group.changes)
	case <-ctx.Done():
		g.close(group)
	}
}

// close lets the group take no more changes.
func (g *changeGroups) close(group *changeGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if template := group.changes[0].Template; g.next[template] == group {
		delete(g.next, template)
	}
}

package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// slowRows count transactions, each of which takes a second. One of them fails.
type slowRows struct {
	ledger.Rows
	mu     sync.Mutex
	writes int
	fails  int    // the number of a transaction
	lost   func() // nil: it writes nothing; else it writes, this happens, and its answer is lost
}

func (r *slowRows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	r.mu.Lock()
	r.writes++
	fails := r.writes == r.fails
	r.mu.Unlock()
	time.Sleep(time.Second)
	switch {
	case fails && r.lost != nil:
		err := r.Rows.Write(ctx, name, f)
		r.lost()
		return errors.Join(ledger.ErrUnavailable, err)
	case fails:
		return errors.New("nothing was written")
	}
	return r.Rows.Write(ctx, name, f)
}

// always are rules of schedules that are due in an hour. One whose Expr is "behind" has too many
// scheduled times for one plan.
type always struct{ ledger.ScheduleRules }

func (always) Begin(_ *ledger.Schedule, _, now time.Time) (time.Time, error) { return now, nil }
func (always) Plan(s *ledger.Schedule, now time.Time, _ bool) (p ledger.Plan, next time.Time, err error) {
	if s.Expr == "behind" {
		now = s.Watermark
	}
	return ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: now}, now.Add(time.Hour), nil
}

func (always) Next(s *ledger.Schedule) (time.Time, error) { return s.Watermark.Add(time.Hour), nil }

func putSchedule(ctx context.Context, l *ledger.Ledger, key, expr string) (ledger.ScheduleResult, error) {
	list, err := l.ChangeSchedules(ctx, ledger.ChangeSchedulesRequest{Template: "t", Rules: always{}, Actor: ledger.Actor{By: "a", Why: "test"},
		Items: []ledger.ScheduleChange{{JobID: "t:" + key, ScheduleContent: ledger.ScheduleContent{Expr: expr}}}})
	if err != nil {
		return ledger.ScheduleResult{}, err
	}
	return list[0], list[0].Err
}

// One change is in progress while others come.
func TestChangesThatWaitShareATransaction(t *testing.T) {
	for _, c := range []struct {
		name   string
		fails  int
		same   bool // change one schedule
		writes int
	}{
		{"the waiting ones share one", 0, false, 2},
		{"each is made alone if that fails", 2, false, 2 + 9},
		{"two of one schedule do not share one", 0, true, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rows := &slowRows{Rows: memory.New().Rows(), fails: c.fails}
				l := ledger.New(rows)
				var all sync.WaitGroup
				for i := range 10 {
					key := fmt.Sprint("k", i)
					if c.same {
						key = "k"
					}
					all.Go(func() {
						if got, err := putSchedule(t.Context(), l, key, fmt.Sprint(i)); err != nil || got.Effect == ledger.ScheduleUnchanged {
							t.Errorf("change %d: %+v, %v", i, got, err)
						}
					})
					synctest.Wait()
				}
				all.Wait()
				if rows.writes != c.writes {
					t.Errorf("%d transactions, want %d", rows.writes, c.writes)
				}
			})
		})
	}
}

// One change of a batch is refused, and would be alone too: the others need not be made alone.
func TestABacklogOfOneScheduleLeavesTheGroupWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := &slowRows{Rows: memory.New().Rows()}
		l := ledger.New(rows)
		putAll := func(expr func(i int) string, refused int) {
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					if _, err := putSchedule(t.Context(), l, fmt.Sprint("k", i), expr(i)); errors.Is(err, ledger.ErrBacklog) != (i == refused) {
						t.Errorf("change %d: %v", i, err)
					}
				})
				synctest.Wait()
			}
			all.Wait()
		}
		putAll(func(i int) string { return map[int]string{3: "behind"}[i] }, -1)
		time.Sleep(time.Minute)
		rows.writes = 0
		putAll(func(int) string { return "other" }, 3)
		if rows.writes != 2 {
			t.Errorf("%d transactions, want 2", rows.writes)
		}
	})
}

// A batch's changes were written, another caller changed one of the schedules, and then the
// batch hears that the outcome is unknown.
func TestAGroupWhoseOutcomeIsUnknownIsNotMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := memory.New().Rows()
		rows, other := &slowRows{Rows: base, fails: 2}, ledger.New(base)
		put := func(change ledger.ScheduleChange) ledger.ScheduleResult {
			list, err := other.ChangeSchedules(t.Context(), ledger.ChangeSchedulesRequest{Template: "t", Rules: always{},
				Actor: ledger.Actor{By: "other", Why: "test"}, Items: []ledger.ScheduleChange{change}})
			if err != nil || list[0].Err != nil {
				t.Errorf("another caller's change: %+v, %v", list, err)
				return ledger.ScheduleResult{}
			}
			return list[0]
		}
		rows.lost = func() {
			put(ledger.ScheduleChange{JobID: "t:k1", IfRevision: 1, ScheduleContent: ledger.ScheduleContent{Expr: "other"}})
		}
		l := ledger.New(rows)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if _, err := putSchedule(t.Context(), l, fmt.Sprint("k", i), "batch"); errors.Is(err, ledger.ErrUnavailable) != (i > 0) {
					t.Errorf("change %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if rows.writes != 2 {
			t.Errorf("%d transactions, want 2", rows.writes)
		}
		for key, want := range map[string]string{"k1": "other", "k2": "batch", "k3": "batch"} {
			got := put(ledger.ScheduleChange{JobID: "t:" + key, ScheduleContent: ledger.ScheduleContent{Expr: want}})
			if got.Effect != ledger.ScheduleUnchanged {
				t.Errorf("%s does not have the content %q: %+v", key, want, got)
			}
		}
	})
}

// One change of a batch is canceled, while it waits and while the batch writes. The first
// change of the batch writes for all: once it does, it has its outcome.
func TestACanceledChangeCancelsNoOther(t *testing.T) {
	for _, c := range []struct {
		canceled int
		after    time.Duration
		fails    bool
	}{
		{1, time.Second / 2, true},
		{1, 3 * time.Second / 2, false},
		{2, time.Second / 2, true},
		{2, 3 * time.Second / 2, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := ledger.New(&slowRows{Rows: canceledRows{memory.New().Rows()}})
			var all sync.WaitGroup
			for i := range 5 {
				ctx := t.Context()
				if i == c.canceled {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.after)
					defer cancel()
				}
				all.Go(func() {
					_, err := putSchedule(ctx, l, fmt.Sprint("k", i), "1")
					if fails := c.fails && i == c.canceled; errors.Is(err, ledger.ErrUnavailable) != fails || !fails && err != nil {
						t.Errorf("%+v: change %d: %v", c, i, err)
					}
				})
				synctest.Wait()
			}
			all.Wait()
		})
	}
}

// canceledRows write nothing for a context that has ended.
type canceledRows struct{ ledger.Rows }

func (r canceledRows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	if ctx.Err() != nil {
		return errors.Join(ledger.ErrUnavailable, ctx.Err())
	}
	return r.Rows.Write(ctx, name, f)
}

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

// slowRows count transactions, each of which takes a second. The first that takes several
// changes fails.
type slowRows struct {
	ledger.Rows
	mu     sync.Mutex
	writes int
	fails  int // the number of a transaction
}

func (r *slowRows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	r.mu.Lock()
	r.writes++
	fails := r.writes == r.fails
	r.mu.Unlock()
	time.Sleep(time.Second)
	if fails {
		return ledger.ErrUnavailable
	}
	return r.Rows.Write(ctx, name, f)
}

// always are rules of schedules that are due in an hour.
type always struct{ ledger.ScheduleRules }

func (always) Begin(_ *ledger.Schedule, _, now time.Time) (time.Time, error) { return now, nil }
func (always) Plan(s *ledger.Schedule, now time.Time, _ bool) (ledger.Plan, error) {
	return ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: now}, nil
}

func (always) Next(s *ledger.Schedule) (time.Time, error) { return s.Watermark.Add(time.Hour), nil }

func putSchedule(ctx context.Context, l *ledger.Ledger, key, expr string) (ledger.ScheduleResult, error) {
	list, err := l.ChangeSchedules(ctx, ledger.ChangeSchedules{Template: "t", Rules: always{}, Actor: ledger.Actor{By: "a", Why: "test"},
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

// The one that makes the changes of all is canceled, while it waits and while it writes.
func TestACanceledChangeCancelsNoOther(t *testing.T) {
	for _, after := range []time.Duration{time.Second / 2, 3 * time.Second / 2} {
		synctest.Test(t, func(t *testing.T) {
			l := ledger.New(&slowRows{Rows: canceledRows{memory.New().Rows()}})
			var all sync.WaitGroup
			for i := range 5 {
				ctx := t.Context()
				if i == 1 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, after)
					defer cancel()
				}
				all.Go(func() {
					if _, err := putSchedule(ctx, l, fmt.Sprint("k", i), "1"); (err != nil) != (i == 1) {
						t.Errorf("change %d: %v", i, err)
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

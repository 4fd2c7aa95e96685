package purge_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency/purge"
)

// table is a store whose batches take as long as it is told, a row at a time.
type table struct {
	rows   int
	row    func(batch int) time.Duration
	limits []int
	begun  []time.Duration // since start
	start  time.Time
}

func (tb *table) batch(_ context.Context, limit int) (int, error) {
	n := min(limit, tb.rows)
	tb.rows -= n
	tb.begun = append(tb.begun, time.Since(tb.start))
	tb.limits = append(tb.limits, limit)
	time.Sleep(time.Duration(n) * tb.row(len(tb.limits)-1))
	return n, nil
}

func each(t *testing.T, p purge.Pace, tb *table) (done bool) {
	t.Helper()
	tb.start = time.Now()
	done, err := p.Run(t.Context(), tb.batch)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func steady(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

func TestBatchesTakeTheirShareOfTheTime(t *testing.T) {
	for _, tc := range []struct {
		rule  string
		share float64
		want  time.Duration // from the start of one batch of 10 ms to the next
	}{
		{"a twentieth by default", 0, 200 * time.Millisecond},
		{"a half", 0.5, 20 * time.Millisecond},
		{"all: no pause", 1, 10 * time.Millisecond},
		{"more than all is all", 7, 10 * time.Millisecond},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &table{rows: 25, row: steady(time.Millisecond)}
				if !each(t, purge.Pace{BatchSize: 10, Share: tc.share}, tb) {
					t.Error("not done")
				}
				if want := []time.Duration{0, tc.want, 2 * tc.want}; !slices.Equal(tb.begun, want) {
					t.Errorf("batches at %v, want %v", tb.begun, want)
				}
			})
		})
	}
}

// A slow store would else be at work when the time behind the bound is over,
// and the night's run would fail instead of reporting what is left.
func TestABatchIsNoLargerThanTheTimeLeftSufficesFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 1000, row: steady(time.Millisecond)}
		start := time.Now()
		done := each(t, purge.Pace{BatchSize: 100, Share: 1, For: 250 * time.Millisecond}, tb)
		if want := []int{100, 100, 50}; done || !slices.Equal(tb.limits, want) || time.Since(start) != 250*time.Millisecond {
			t.Errorf("done %t, limits %v after %v, want %v", done, tb.limits, time.Since(start), want)
		}
	})
}

func TestNoPauseGoesPastTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 1000, row: steady(10 * time.Millisecond)} // a pause of 900 ms after each batch of 100 ms
		start := time.Now()
		done := each(t, purge.Pace{BatchSize: 10, For: 950 * time.Millisecond}, tb)
		if took := time.Since(start); done || took != 950*time.Millisecond {
			t.Errorf("done %t after %v", done, took)
		}
	})
}

func TestNoBatchIsBegunAfterTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 1000, row: steady(time.Millisecond)}
		if each(t, purge.Pace{BatchSize: 10, Share: 1, For: 55 * time.Millisecond}, tb) {
			t.Error("done, with rows left")
		}
		if len(tb.begun) != 6 || tb.rows != 945 { // the last one of five rows, for which the time sufficed
			t.Errorf("batches at %v, %d rows left", tb.begun, tb.rows)
		}
	})
}

func TestAPurgeEndsWithItsContextAlsoInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { stop(stopped) })
		tb := &table{rows: 1000, row: steady(10 * time.Millisecond), start: time.Now()}
		done, err := purge.Pace{BatchSize: 1, Share: 0.01}.Run(ctx, tb.batch)
		if done || !errors.Is(err, stopped) || time.Since(tb.start) != 100*time.Millisecond {
			t.Errorf("done %t, %v after %v", done, err, time.Since(tb.start))
		}
	})
}

func TestBatchesAreOfOneSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for batch, want := range map[int][]int{0: {1000, 1000, 1000}, 1500: {1500, 1500}} {
			tb := &table{rows: 2500, row: steady(time.Microsecond)}
			if !each(t, purge.Pace{BatchSize: batch}, tb) || !slices.Equal(tb.limits, want) {
				t.Errorf("limits %v, want %v", tb.limits, want)
			}
		}
	})
}

func TestPausesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 15, row: steady(time.Second)}
		each(t, purge.Pace{BatchSize: 10}, tb)
		if want := []time.Duration{0, 15 * time.Second}; !slices.Equal(tb.begun, want) {
			t.Errorf("batches at %v, want %v", tb.begun, want)
		}
	})
}

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
	done, err := p.Each(t.Context(), tb.batch)
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
		{"a tenth by default", 0, 100 * time.Millisecond},
		{"a half", 0.5, 20 * time.Millisecond},
		{"all: no pause", 1, 10 * time.Millisecond},
		{"more than all is all", 7, 10 * time.Millisecond},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &table{rows: 25, row: steady(time.Millisecond)}
				if !each(t, purge.Pace{Batch: 10, Share: tc.share}, tb) {
					t.Error("not done")
				}
				if want := []time.Duration{0, tc.want, 2 * tc.want}; !slices.Equal(tb.begun, want) {
					t.Errorf("batches at %v, want %v", tb.begun, want)
				}
			})
		})
	}
}

func TestPausesGrowWhileTheStoreIsSlowAndShrinkAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 300, row: func(batch int) time.Duration {
			if 5 <= batch && batch < 9 {
				return 4 * time.Millisecond
			}
			return time.Millisecond
		}}
		each(t, purge.Pace{Batch: 10, Share: 0.5}, tb)
		pause := func(batch int) time.Duration {
			return tb.begun[batch+1] - tb.begun[batch] - 10*tb.row(batch)
		}
		if before, slow, after := pause(4), pause(8), pause(24); slow != 4*4*before || after != before {
			t.Errorf("pauses %v, then %v, then %v; want 16 times the first for a batch that takes 4 times as long, then the first",
				before, slow, after)
		}
	})
}

func TestBatchesThatTakeTooLongAreMadeSmaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 20_000, row: func(batch int) time.Duration {
			if 4 <= batch && batch < 7 {
				return time.Millisecond // 1600 rows: 1.6 s
			}
			return 10 * time.Microsecond
		}}
		each(t, purge.Pace{Share: 1}, tb)
		if want := []int{100, 200, 400, 800, 1600, 800, 400, 200, 400}; !slices.Equal(tb.limits[:9], want) {
			t.Errorf("limits %v, want %v first", tb.limits, want)
		}
		if most := slices.Max(tb.limits[9:]); most != 5000 {
			t.Errorf("limits %v: never at 5000", tb.limits)
		}
	})
}

func TestBatchesBeginSmallAndAreLargerWhereNothingBesideThemMatters(t *testing.T) {
	for _, tc := range []struct {
		rule string
		pace purge.Pace
		want []int
	}{
		{"at the default pace", purge.Pace{}, []int{100, 200, 400, 800, 1000, 1000, 1000}},
		{"at full pace", purge.Pace{Share: 1}, []int{100, 200, 400, 800, 1600, 3200, 5000}},
		{"as asked for", purge.Pace{Batch: 150}, []int{100, 150, 150, 150, 150, 150, 150}},
		{"fewer than the first", purge.Pace{Batch: 7}, []int{7, 7, 7, 7, 7, 7, 7}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &table{rows: 20_000, row: steady(time.Microsecond)}
				each(t, tc.pace, tb)
				if !slices.Equal(tb.limits[:7], tc.want) {
					t.Errorf("limits %v, want %v first", tb.limits[:7], tc.want)
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
		done := each(t, purge.Pace{Share: 1, For: 250 * time.Millisecond}, tb)
		if want := []int{100, 100, 50}; done || !slices.Equal(tb.limits, want) || time.Since(start) != 250*time.Millisecond {
			t.Errorf("done %t, limits %v after %v, want %v", done, tb.limits, time.Since(start), want)
		}
	})
}

func TestABatchIsNeverMadeTooSmallToGetOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 5000, row: steady(time.Second)}
		each(t, purge.Pace{Batch: 800, Share: 1}, tb)
		if least := slices.Min(tb.limits); least != 100 {
			t.Errorf("the smallest batch was %d, want 100", least)
		}
	})
}

func TestNoPauseGoesPastTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 1000, row: steady(10 * time.Millisecond)} // a pause of 900 ms after each batch of 100 ms
		start := time.Now()
		done := each(t, purge.Pace{Batch: 10, For: 950 * time.Millisecond}, tb)
		if took := time.Since(start); done || took != 950*time.Millisecond {
			t.Errorf("done %t after %v", done, took)
		}
	})
}

func TestNoBatchIsBegunAfterTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{rows: 1000, row: steady(time.Millisecond)}
		if each(t, purge.Pace{Batch: 10, Share: 1, For: 55 * time.Millisecond}, tb) {
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
		done, err := purge.Pace{Batch: 1, Share: 0.01}.Each(ctx, tb.batch)
		if done || !errors.Is(err, stopped) || time.Since(tb.start) != 100*time.Millisecond {
			t.Errorf("done %t, %v after %v", done, err, time.Since(tb.start))
		}
	})
}

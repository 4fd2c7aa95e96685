package serve

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testclock"
)

// A wake-up is an interval: a wall clock that is set does not move it.
func TestWakeUpsGoOnWhenTheWallClockIsSetBack(t *testing.T) {
	for name, step := range map[string]time.Duration{"back": -2 * time.Hour, "ahead": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock testclock.Clock
			a, err := newWaker(clock.Now)
			if err != nil {
				t.Fatal(err)
			}
			woken := make(chan struct{}, 1000)
			if err := a.Every(20*time.Millisecond, "beat", func() { woken <- struct{}{} }); err != nil {
				t.Fatal(err)
			}
			wait := func(n int) {
				t.Helper()
				for range n {
					select {
					case <-woken:
					case <-time.After(10 * time.Second):
						t.Fatal("no wake-up for 10 seconds")
					}
				}
			}
			wait(3)
			clock.Suspend(step)
			wait(50)
			if err := a.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

package executor

import (
	"sync"
	"time"
)

// Waker wakes the executor. It decides when the executor checks for due runs, never
// what is due: that follows from the schedules and the ledger's clock, so a wake-up
// that is late, early or doubled changes nothing but lateness.
type Waker interface {
	// Every calls wake each d until Stop. name identifies the wake-up for a person. wake
	// never blocks.
	Every(d time.Duration, name string, wake func()) error
	// Stop ends all wake-ups and returns when none is under way.
	Stop() error
}

// ticker is the default Waker.
type ticker struct {
	mu   sync.Mutex
	done chan struct{}
	wg   sync.WaitGroup
}

// Every calls wake each d, in a goroutine that Stop ends.
func (t *ticker) Every(d time.Duration, _ string, wake func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
	}
	done := t.done
	t.wg.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				wake()
			}
		}
	})
	return nil
}

// Stop ends all wake-ups, and returns when none is being made.
func (t *ticker) Stop() error {
	t.mu.Lock()
	if t.done != nil {
		close(t.done)
		t.done = nil
	}
	t.mu.Unlock()
	t.wg.Wait()
	return nil
}

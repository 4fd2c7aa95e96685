package simulate

import (
	"math/rand/v2"
	"sync"
	"time"
)

// alarm wakes an executor as the default one does, but each of its beats at a
// moment that it shares with nothing else.
type alarm struct {
	*rand.Rand
	done chan struct{}
	wg   sync.WaitGroup
}

func newAlarm(r *rand.Rand) *alarm {
	return &alarm{Rand: rand.New(rand.NewPCG(r.Uint64(), 2)), done: make(chan struct{})}
}

func (a *alarm) Every(d time.Duration, _ string, wake func()) error {
	first := between(a.Rand, 0, d)
	a.wg.Go(func() {
		next := time.NewTimer(first)
		defer next.Stop()
		for {
			select {
			case <-a.done:
				return
			case <-next.C:
				wake()
				next.Reset(d)
			}
		}
	})
	return nil
}

func (a *alarm) Stop() error {
	close(a.done)
	a.wg.Wait()
	return nil
}

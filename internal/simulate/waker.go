package simulate

import (
	"math/rand/v2"
	"sync"
	"time"
)

// waker wakes an executor as the default one does, but each of its beats at a
// moment that it shares with nothing else.
type waker struct {
	*rand.Rand
	done chan struct{}
	wg   sync.WaitGroup
}

func newWaker(r *rand.Rand) *waker {
	return &waker{Rand: rand.New(rand.NewPCG(r.Uint64(), 2)), done: make(chan struct{})}
}

func (w *waker) Every(d time.Duration, _ string, wake func()) error {
	first := between(w.Rand, 0, d)
	w.wg.Go(func() {
		next := time.NewTimer(first)
		defer next.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-next.C:
				wake()
				next.Reset(d)
			}
		}
	})
	return nil
}

func (w *waker) Stop() error {
	close(w.done)
	w.wg.Wait()
	return nil
}

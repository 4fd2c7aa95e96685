package idempotency

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// works are the pieces of long work that run in this process. The zero works are
// ready.
type works struct {
	mu      sync.Mutex
	running map[*Work]bool
	closed  bool
	idle    chan struct{} // closed when the works are closed and none runs
}

// add reports whether more work may begin.
func (s *works) add(w *Work) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.running == nil {
		s.running = map[*Work]bool{}
	}
	s.running[w] = true
	return true
}

func (s *works) remove(w *Work) {
	w.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, w)
	if s.closed && len(s.running) == 0 {
		s.close()
	}
}

// close closes idle, once.
func (s *works) close() {
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

// stop lets no more work begin.
func (s *works) stop() (idle <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed, s.idle = true, make(chan struct{})
	}
	if len(s.running) == 0 {
		s.close()
	}
	return s.idle
}

// end ends the contexts of all that run.
func (s *works) end() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.running {
		w.cancel(ErrShutdown)
	}
	return len(s.running)
}

// Shutdown waits for running long work before the process ends. After Shutdown is called,
// requests that would start work are answered 503, and requests for running work 202. If ctx
// ends first, Shutdown ends the context of each work with the cause [ErrShutdown]. It
// releases the keys of those that return within [Options.StoreTimeout], so that the next
// request starts the work again in another process. The error then says how many there
// were.
func (k *Kit) Shutdown(ctx context.Context) error {
	idle := k.works.stop()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	n := k.works.end()
	timeout := time.NewTimer(k.opt.StoreTimeout)
	defer timeout.Stop()
	select {
	case <-idle:
		return fmt.Errorf("%w: %d pieces of long work were ended and given up: %w", ErrShutdown, n, context.Cause(ctx))
	case <-timeout.C:
		return fmt.Errorf("%w: long work went on although its context had ended; its key is free when its lease ends", ErrShutdown)
	}
}

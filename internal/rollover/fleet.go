// Package rollover replaces what a process serves, as a rolling deploy does:
// the next member starts beside the current one, and the current one stops
// gracefully when the next is ready. A member that cannot be loaded, or that
// fails before it is ready, replaces nothing.
package rollover

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Member serves one version of a configuration.
type Member interface {
	comparable
	// Run serves until ctx ends, then stops gracefully.
	Run(ctx context.Context) error
	// Ready returns nil while the member serves, or why it does not.
	Ready() error
}

// readyEvery is how often a starting member is asked whether it is ready.
const readyEvery = 100 * time.Millisecond

// Fleet runs a member, and replaces it on request. Make it with New.
type Fleet[M Member] struct {
	load     func() (M, error)
	observe  Observer
	log      *slog.Logger
	requests chan struct{}

	mu      sync.Mutex
	current M
	running []M // current and those that are starting or stopping
	failure error
}

// Observer is told of each replacement.
type Observer interface {
	// Reloading: a replacement begins.
	Reloading()
	// Reloaded: it ended; err is nil, or why the current member stays.
	Reloaded(err error)
}

// New prepares a fleet whose first member is given. Load makes the next one,
// each time that a replacement is requested.
func New[M Member](first M, load func() (M, error), o Observer, log *slog.Logger) *Fleet[M] {
	return &Fleet[M]{current: first, load: load, observe: o, log: log, requests: make(chan struct{}, 1)}
}

// Request asks for a replacement. Requests that come while one is under way
// lead to one more.
func (f *Fleet[M]) Request() {
	select {
	case f.requests <- struct{}{}:
	default:
	}
}

// Current is the member that serves.
func (f *Fleet[M]) Current() M {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// Members are all that run, those that are starting or stopping too.
func (f *Fleet[M]) Members() []M {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.running)
}

// Failure returns the error of the last replacement; nil if it succeeded.
func (f *Fleet[M]) Failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure
}

// run is a member and its goroutine.
type run[M Member] struct {
	member M
	stop   context.CancelFunc
	ended  chan struct{}
	err    error // once ended
}

// Run serves until ctx ends or the current member fails, and returns when every
// member has stopped.
func (f *Fleet[M]) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stopAll := context.WithCancel(ctx)
	defer stopAll()
	current := f.start(ctx, &group, f.Current())
	for {
		select {
		case <-current.ended:
			return current.err
		case <-f.requests:
			if ctx.Err() == nil {
				current = f.replace(ctx, &group, current)
			}
		}
	}
}

func (f *Fleet[M]) start(ctx context.Context, group *sync.WaitGroup, m M) *run[M] {
	ctx, cancel := context.WithCancel(ctx)
	r := &run[M]{member: m, stop: cancel, ended: make(chan struct{})}
	f.mu.Lock()
	f.running = append(f.running, m)
	f.mu.Unlock()
	group.Go(func() {
		defer close(r.ended)
		defer cancel()
		r.err = m.Run(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running = slices.DeleteFunc(f.running, func(other M) bool { return other == m })
	})
	return r
}

// replace returns the member that serves next: the next one, or the
// current one if the next cannot serve.
func (f *Fleet[M]) replace(ctx context.Context, group *sync.WaitGroup, current *run[M]) *run[M] {
	f.observe.Reloading()
	next, err := f.next(ctx, group, current)
	if ctx.Err() != nil { // the process stops, which is no failure of the reload
		return current
	}
	f.mu.Lock()
	f.failure = err
	if err == nil {
		f.current = next.member
	}
	f.mu.Unlock()
	f.observe.Reloaded(err)
	if err != nil {
		return current
	}
	current.stop()
	group.Go(func() {
		<-current.ended
		if current.err != nil {
			f.log.Error("the replaced registry stopped with an error", "error", current.err)
		}
	})
	return next
}

// next starts the next member and waits until it is ready, as long as that
// takes: the current one serves meanwhile.
func (f *Fleet[M]) next(ctx context.Context, group *sync.WaitGroup, current *run[M]) (*run[M], error) {
	m, err := f.load()
	if err != nil {
		return nil, err
	}
	r := f.start(ctx, group, m)
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for m.Ready() != nil {
		select {
		case <-tick.C:
		case <-current.ended:
			r.stop()
			return nil, current.err
		case <-r.ended:
			return nil, errors.Join(errEnded, r.err)
		}
	}
	return r, nil
}

// errEnded: the next member stopped before it served.
var errEnded = errors.New("stopped before it was ready")

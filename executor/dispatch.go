package executor

import (
	"context"
	"sync"
)

// dispatcher makes the attempts of queued runs, each in a goroutine that goes on
// with the next run that has a place.
type dispatcher struct {
	work     *workset
	attempts *attempter
	wake     signal // sent when more work may be leased
	observer Observer
	inFlight sync.WaitGroup
}

// start starts every run that has a place.
func (d *dispatcher) start(ctx context.Context) {
	for {
		r, ok := d.work.take()
		if !ok {
			break
		}
		d.inFlight.Go(func() { d.serve(ctx, r) })
	}
	d.observe()
}

// observe tells the observer how many runs are in flight and waiting.
func (d *dispatcher) observe() {
	in, waiting, _ := d.work.size()
	d.observer.InFlight(in, waiting)
}

// serve makes the attempt of a run, and then those of the runs that have a place after it, until
// none has. It closes a target that cannot be called at all.
func (d *dispatcher) serve(ctx context.Context, r *run) {
	for ok := true; ok; r, ok = d.work.take() {
		target := r.Call.Target
		o, targetClosed := d.attempts.attempt(ctx, r)
		d.work.end(r, o)
		if targetClosed {
			d.work.closeTarget(target, o.Wait, o.WaitReason)
		}
		if d.work.low() {
			d.wake.send()
		}
	}
	d.wake.send()
}

package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
)

// member is one place in the fleet, with the process that fills it, if any.
type member struct {
	process *process
	stop    context.CancelFunc
	back    time.Time // when it is started again
}

func (m *member) up() bool { return m.process != nil && !m.process.isDead() }

// name gives every process that ever ran a name of its own.
func (w *world) name(kind string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.born++
	return fmt.Sprintf("%s-%d", kind, w.born)
}

// start fills a place with a process that holds this registry.
func (w *world) start(m *member, reg *jobs.Registry) error {
	p, ctx := w.newProcess(context.Background(), w.name("serve"))
	r := w.Dice(p.id, 0)
	e, err := executor.New(executor.Config{
		Registry: reg, Ledger: w.asks(p), Caller: p, Process: p.id,
		MaxInFlight: pick(r, 1, 4, 64),
		Lease:       pick(r, 10*time.Second, 30*time.Second),
		Grace:       pick(r, time.Millisecond, 5*time.Second, 25*time.Second),
		Random:      p.source(), Waker: newWaker(r),
	})
	if err != nil {
		return err
	}
	m.process, m.stop = p, p.cancel
	w.tasks.Go(func() {
		if err := e.Run(ctx); err != nil {
			w.fail(err)
		}
	})
	w.watch(ctx, p, reg)
	w.note(func(t *Tally) { t.Starts++ })
	return nil
}

// asks is what an executor has for its ledger: the process.
func (w *world) asks(p *process) executor.Ledger {
	if w.options.Asks != nil {
		return w.options.Asks(p, w)
	}
	return p
}

// halt stops a member gracefully.
func (w *world) halt(m *member) {
	if m.up() {
		m.stop()
		m.process = nil
		w.note(func(t *Tally) { t.Stops++ })
	}
}

// version is the registry that a process starting now holds: the newest, or
// one that is being rolled out or back.
func (w *world) version(r *rand.Rand) *jobs.Registry {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.IntN(5) == 0 {
		return w.versions[r.IntN(len(w.versions))]
	}
	return w.versions[len(w.versions)-1]
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/ledger"
)

// workLease is how long a worker keeps its key without a sign of life.
const workLease = 15 * time.Second

// labor is one worker's work on one run.
type labor struct {
	t      *target
	runID  string
	name   string // of its key
	worker int
	begun  time.Time
	takes  time.Duration
	dies   bool
	stalls bool // for longer than its lease, and then goes on
}

// accept answers 202 and works on, as the kit does: under a lease on the key, which
// another worker takes over when it has expired.
func (t *target) accept(c executor.Call, name, payload string, r *rand.Rand) executor.Answer {
	now, most := t.w.faultRates, c.Work.Call.Within/4
	if t.w.isCalm() {
		now, most = faultRates{}, 2*time.Second // long queues have to end
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.workers++
	t.keys[name] = &key{payload: payload, worker: t.workers, alive: t.now().Add(workLease)}
	l := &labor{
		t: t, runID: c.RunID, name: name, worker: t.workers, begun: t.now(),
		takes: between(r, time.Second, most),
		dies:  chance(r, now.failing), stalls: chance(r, now.crawling),
	}
	t.w.tasks.Go(l.work)
	return executor.Answer{Kind: ledger.AnswerAccepted, Status: 202, Progress: "accepted"}
}

func (l *labor) work() {
	const step = workLease / 3
	for left := l.takes; left > 0; left -= step {
		time.Sleep(min(step, left))
		if l.dies && left < l.takes/2 || !l.renew() {
			return
		}
	}
	if l.stalls {
		time.Sleep(2*workLease + l.takes)
	}
	l.finish()
}

// renew reports whether the worker still has its key.
func (l *labor) renew() bool {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	k := l.t.keys[l.name]
	if k == nil || k.worker != l.worker {
		return l.t.flaws.Unfenced
	}
	k.alive = l.t.now().Add(workLease)
	return true
}

// finish commits the effect with the key, if the worker still has it.
func (l *labor) finish() {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	k := l.t.keys[l.name]
	if (k == nil || k.worker != l.worker) && !l.t.flaws.Unfenced {
		return
	}
	l.t.effects = append(l.t.effects, proof.Effect{RunID: l.runID, Begun: l.begun, At: l.t.now()})
	if k != nil {
		k.status, k.expires = 200, l.t.now().Add(l.t.ttl)
	}
}

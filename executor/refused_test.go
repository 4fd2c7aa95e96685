package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// picky is a ledger that refuses batches, and goes down while the outcomes
// come one by one.
type picky struct {
	*memory.Ledger
	mu      sync.Mutex
	refused bool
	downs   int
}

func (p *picky) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.Fate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(o) > 1:
		p.refused = true
		return nil, errors.New("something in it is not to my taste")
	case p.refused && p.downs < 3:
		p.downs++
		return nil, fmt.Errorf("%w: connection refused", ledger.ErrUnavailable)
	}
	return p.Ledger.Record(ctx, o)
}

// named sees that each outcome is told with the id of its own job.
type named struct {
	executor.Silent
	*testing.T
}

func (n named) Settled(o ledger.Outcome, jobID string, _ ledger.Fate) {
	if !strings.HasPrefix(o.RunID, jobID+"@") {
		n.Errorf("%s is told as one of job %s", o.RunID, jobID)
	}
}

func TestOutcomesTakenApartSurviveAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := &picky{Ledger: memory.New()}, applying()
		reg := registry(t, minutely("a"), minutely("b"), minutely("c"), minutely("d"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, Observer: named{T: t}})
		time.Sleep(3*time.Minute + time.Second)
		stop()
		if !l.refused || l.downs != 3 {
			t.Fatal("nothing was refused or lost")
		}
		for _, r := range mustList(t, l.Ledger, ledger.Filter{}) {
			if r.State != ledger.Succeeded || r.Attempt != 1 {
				t.Errorf("%s is %s after %d attempts", r.ID, r.State, r.Attempt)
			}
		}
	})
}

package executor_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// slowRecords is a ledger that admits at once and takes its time to record. It
// counts the leases that are out.
type slowRecords struct {
	executor.Ledger
	mu        sync.Mutex
	out, most int
}

func (l *slowRecords) leased(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out += n
	l.most = max(l.most, l.out)
}

func (l *slowRecords) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	got, err := l.Ledger.Admit(ctx, a)
	l.leased(len(got.Leased))
	return got, err
}

func (l *slowRecords) Claim(ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
	got, err := l.Ledger.Claim(ctx, c)
	l.leased(len(got.Work))
	return got, err
}

func (l *slowRecords) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	time.Sleep(50 * time.Millisecond)
	results, err := l.Ledger.Record(ctx, o)
	l.leased(-len(results))
	return results, err
}

// Calls end faster than the ledger records them: what a process holds, in
// memory and in what a crash would repeat, stays bounded, and all of it runs.
func TestARecorderThatIsBehindHoldsUpWhatIsLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 9_900
		l := &slowRecords{Ledger: memory.New()}
		svc := &counting{}
		var entries []jobs.Entry
		for i := range n {
			j := minutely(fmt.Sprint("job-", i))
			j.Schedule = "0 * * * *"
			entries = append(entries, j)
		}
		_, stop := start(t, executor.Config{Registry: registry(t, entries...), Ledger: l, Caller: svc, MaxInFlight: 64})
		time.Sleep(time.Hour + 10*time.Second)
		stop()
		if svc.n != n {
			t.Errorf("%d calls of %d", svc.n, n)
		}
		if l.out != 0 {
			t.Errorf("%d leases without an outcome", l.out)
		}
		if bound := 64 + 5_000 + 2_000; l.most > bound {
			t.Errorf("%d leases were out at once, want at most %d: in flight, ahead, and waiting to be recorded", l.most, bound)
		}
	})
}

// counting answers every call at once.
type counting struct {
	mu sync.Mutex
	n  int
}

func (c *counting) Call(context.Context, executor.Call) executor.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

package executor_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// target is a service in miniature: it applies each key once, and answers as
// its script says.
type target struct {
	mu      sync.Mutex
	calls   []executor.Call
	times   []time.Time
	effects map[string]int
	answer  func(ctx context.Context, c executor.Call, n int) executor.Answer
}

func newTarget(answer func(ctx context.Context, c executor.Call, n int) executor.Answer) *target {
	return &target{effects: map[string]int{}, answer: answer}
}

func (t *target) Call(ctx context.Context, c executor.Call) executor.Answer {
	t.mu.Lock()
	t.calls = append(t.calls, c)
	t.times = append(t.times, time.Now())
	n := 0
	for _, earlier := range t.calls {
		if earlier.RunID == c.RunID {
			n++
		}
	}
	t.mu.Unlock()
	return t.answer(ctx, c, n)
}

func (t *target) apply(c executor.Call) executor.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.effects[c.RunID]++; t.effects[c.RunID] > 1 {
		t.effects[c.RunID] = 1
		return executor.Answer{Kind: ledger.AnswerReplayed, Status: 200}
	}
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

func (t *target) runIDs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.effects))
}

func applying() *target {
	t := newTarget(nil)
	t.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer { return t.apply(c) }
	return t
}

func registry(t *testing.T, entries ...jobs.Entry) *jobs.Registry {
	t.Helper()
	entries = append(entries, jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Cleanup{Schedule: "0 3 1 1 *"})
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func minutely(id string) jobs.Job {
	return jobs.Job{ID: id, Schedule: "* * * * *", Target: "svc", Path: "/" + id}
}

// start runs an executor until the returned function stops it.
func start(t *testing.T, cfg executor.Config) (*executor.Executor, func()) {
	t.Helper()
	e, err := executor.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	return e, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func mustList(t *testing.T, l *memory.Ledger, f ledger.Filter) []ledger.Run {
	t.Helper()
	f.Limit = 10_000
	runs, err := l.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

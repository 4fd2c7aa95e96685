package executor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// admissions notes how many rows each admission had.
type admissions struct {
	executor.Ledger
	takes time.Duration // an admission

	mu   sync.Mutex
	rows []int
}

func (l *admissions) sofar() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

func (l *admissions) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	n := 0
	for _, p := range a.Plans {
		n += len(p.Runs)
	}
	l.mu.Lock()
	l.rows = append(l.rows, n)
	l.mu.Unlock()
	time.Sleep(l.takes)
	return l.Ledger.Admit(ctx, a)
}

func TestAdmissions(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		jobs    int
		callers int
		takes   time.Duration
		want    string // rows of each admission at the full hour
	}{
		"have at most 500 rows":             {"small", 1_700, 100, 0, "[500 500 500 200]"},
		"do not wait for a caller":          {"small", 1_100, 1, 0, "[500 500 100]"},
		"of a slow ledger are not larger":   {"small", 1_100, 100, 100 * time.Millisecond, "[500 500 100]"},
		"that take all that is due are one": {"small", 10, 100, 0, "[10]"},
		"hold about 1 MB of bodies":         {strings.Repeat("x", 200<<10), 14, 100, 0, "[6 6 2]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &admissions{Ledger: memory.New(), takes: c.takes}
				var entries []jobs.Entry
				for i := range c.jobs {
					j := minutely(fmt.Sprint("job-", i))
					j.Schedule, j.Body = "0 * * * *", c.body
					entries = append(entries, j)
				}
				_, stop := start(t, executor.Config{Registry: registry(t, entries...), Ledger: l, Caller: &counting{}, MaxInFlight: c.callers})
				time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(90 * time.Minute)))
				first := l.sofar()
				time.Sleep(time.Hour)
				stop()
				if again := l.sofar()[len(first):]; fmt.Sprint(first) != c.want || fmt.Sprint(again) != c.want {
					t.Errorf("rows %v, and an hour later %v, want %s", first, again, c.want)
				}
			})
		})
	}
}

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
		"begin with what the callers can take, and double": {"small", 1_700, 100, 0, "[100 200 400 500 500]"},
		"of one caller soon are large":                     {"small", 1_600, 1, 0, "[1 2 4 8 16 32 64 128 256 500 500 89]"},
		"of a ledger that is slow are larger":              {"small", 3_000, 100, 100 * time.Millisecond, "[100 200 400 800 1500]"},
		"that take all that is due are one":                {"small", 10, 100, 0, "[10]"},
		"hold about 1 MB of bodies":                        {strings.Repeat("x", 200<<10), 14, 100, 0, "[6 6 2]"},
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

package executortest_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/executor/executortest"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service notes the calls, and fails the first of each key on Sundays.
type service struct {
	mu    sync.Mutex
	calls []string
	seen  map[string]bool
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	s.calls = append(s.calls, key)
	if !s.seen[key] && time.Now().UTC().Weekday() == time.Sunday {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	s.seen[key] = true
}

// lastOfMarch is a registry in the last days of March 2026.
func lastOfMarch(t *testing.T, entries ...jobs.Entry) executortest.Config {
	t.Helper()
	reg, err := jobs.NewRegistry(append(entries, jobs.Name("acme"), jobs.Target{Name: "books", URLEnv: "BOOKS_URL"})...)
	if err != nil {
		t.Fatal(err)
	}
	return executortest.Config{
		Registry: reg, From: time.Date(2026, 3, 26, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
	}
}

// The clocks of Berlin go forward on 29 March, a Sunday.
func TestEachScheduledTimeRunsOnceAcrossAClockChange(t *testing.T) {
	svc := &service{seen: map[string]bool{}}
	c := lastOfMarch(t, jobs.Job{ID: "close-day", Schedule: "30 2 * * *", Timezone: "Europe/Berlin", Target: "books", Path: "/close"})
	c.From = c.From.AddDate(0, 0, 2)
	c.Handlers = map[string]http.Handler{"books": svc}
	attempts, closed := 0, 0
	for _, r := range executortest.Run(t, c) {
		if r.JobID == "close-day" {
			closed++
			attempts += r.Attempt
			if r.State != ledger.Succeeded {
				t.Errorf("%s is %s (%s)", r.ID, r.State, r.Reason)
			}
		}
	}
	// Four days, of which one is a Sunday.
	if closed != 4 || attempts != 5 || len(svc.calls) != 5 || svc.calls[len(svc.calls)-1] != "close-day@2026-03-31T00:30:00Z" {
		t.Errorf("%d runs, %d attempts, %d calls, the last %q", closed, attempts, len(svc.calls), svc.calls)
	}
}

func TestATargetWithoutAHandlerRefusesConnections(t *testing.T) {
	c := lastOfMarch(t, jobs.Job{ID: "a", Schedule: "0 0 27 3 *", Target: "books", Path: "/x"})
	c.To = c.From.Add(48 * time.Hour)
	for _, r := range executortest.Run(t, c) {
		if r.JobID == "a" && (r.State != ledger.Dead || r.Attempt != 5) {
			t.Errorf("%+v", r)
		}
	}
}

func TestAPauseDuringTheRun(t *testing.T) {
	svc := &service{seen: map[string]bool{}}
	c := lastOfMarch(t, jobs.Job{ID: "hourly", Schedule: "30 * * * *", Target: "books", Path: "/x"})
	c.Handlers, c.To = map[string]http.Handler{"books": svc}, c.From.Add(24*time.Hour)
	c.During = func(ctx context.Context, l *memory.Ledger) {
		time.Sleep(12 * time.Hour)
		if err := l.PauseJob(ctx, "hourly", ledger.Actor{By: "ann", Why: "a test"}); err != nil {
			t.Error(err)
		}
	}
	executortest.Run(t, c)
	if len(svc.calls) != 12 {
		t.Errorf("%d calls, want those of the first 12 hours: %q", len(svc.calls), svc.calls)
	}
}

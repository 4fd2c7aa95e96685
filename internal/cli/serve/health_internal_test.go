package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// A process whose planner hangs must be restarted by what watches it; one whose
// ledger fails must not.
func TestLivenessFollowsThePlanner(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]int{
		0: http.StatusOK, time.Second: http.StatusOK, stalledAfter: http.StatusOK,
		stalledAfter + time.Second: http.StatusServiceUnavailable, 24 * time.Hour: http.StatusServiceUnavailable,
	} {
		answer := httptest.NewRecorder()
		liveness(func() time.Duration { return age })(answer, httptest.NewRequest(http.MethodGet, "/healthz", http.NoBody))
		if answer.Code != want {
			t.Errorf("planner looked %s ago: status %d, want %d", age, answer.Code, want)
		}
		if want != http.StatusOK && !strings.Contains(answer.Body.String(), age.String()) {
			t.Errorf("planner looked %s ago: the answer does not say so: %q", age, answer.Body)
		}
	}
}

// troubled is a ledger in which more jobs have a problem than a scrape may have series.
type troubled struct{ ledger.Store }

const troubledJobs = 3000

func (troubled) Incidents(_ context.Context, f ledger.IncidentFilter) (list []ledger.Incident, _ error) {
	if !f.Open {
		return nil, fmt.Errorf("listed closed incidents too: %+v", f)
	}
	for i := range min(troubledJobs, f.PageSize()) {
		list = append(list, ledger.Incident{JobID: fmt.Sprint("job", i), Cause: ledger.IncidentDead})
	}
	return list, nil
}

func (troubled) List(_ context.Context, f ledger.Filter) (list []ledger.Run, _ error) {
	if !f.Unacknowledged || !slices.Equal(f.States, []ledger.State{ledger.Dead}) {
		return nil, fmt.Errorf("listed others than unacknowledged dead runs: %+v", f)
	}
	n := troubledJobs
	if f.Limit > 0 {
		n = min(n, f.Limit)
	}
	for i := range n {
		list = append(list, ledger.Run{JobID: fmt.Sprint("job", i), Count: 1})
	}
	return list, nil
}

// The series of jobs with problems are bounded, however many jobs have one.
func TestAScrapeHasABoundedNumberOfTroubles(t *testing.T) {
	t.Parallel()
	got, err := troublesOf(troubled{})(t.Context())
	if err != nil || len(got.Incidents) != 1000 || len(got.Dead) != 1000 {
		t.Errorf("%d incidents, dead runs of %d jobs, %v; want 1000 of each", len(got.Incidents), len(got.Dead), err)
	}
}

// silent is a ledger that takes a claim and never answers.
type silent struct{ executor.Ledger }

func (silent) Claim(ctx context.Context, _ ledger.ClaimRequest) (ledger.Claimed, error) {
	<-ctx.Done()
	return ledger.Claimed{}, ctx.Err()
}

func TestAProcessWhoseLedgerDoesNotAnswerIsNotReady(t *testing.T) {
	for _, c := range []struct {
		ledger executor.Ledger
		ready  bool
	}{{memory.New(), true}, {silent{memory.New()}, false}} {
		synctest.Test(t, func(t *testing.T) {
			reg, err := jobs.NewRegistry(jobs.Name("acme"))
			if err != nil {
				t.Fatal(err)
			}
			e, err := executor.New(executor.Config{Registry: reg, Ledger: c.ledger, Caller: cleanup.Nightly{}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			i := &instance{Executor: e}
			time.Sleep(10 * time.Second)
			if err := i.Ready(); err != nil {
				t.Errorf("after 10 s: %v", err)
			}
			time.Sleep(silentAfter)
			if err := i.Ready(); (err == nil) != c.ready {
				t.Errorf("after %s: %v", silentAfter+10*time.Second, err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

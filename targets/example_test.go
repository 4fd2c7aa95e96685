package targets_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// The executor does this for each attempt of a run that it holds.
func ExampleTargets_Call() {
	membership := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"))
	}))
	defer membership.Close()

	registry, err := jobs.NewRegistry(jobs.Name("acme-platform"),
		jobs.Target{Name: "membership", URLEnv: "MEMBERSHIP_URL"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ts, err := targets.New(targets.Config{Registry: registry, Lookup: func(string) (string, bool) {
		return membership.URL, true
	}})
	if err != nil {
		fmt.Println(err) // every variable that is unset or unusable
		return
	}
	defer ts.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	answer := ts.Call(ctx, executor.Call{Registry: registry.Name(), Work: ledger.Work{
		RunID: "release-locks@2026-11-21T03:00:00Z", JobID: "release-locks", Attempt: 1,
		Call: ledger.CallSpec{Target: "membership", Method: "POST", Path: "/v1/locks/release"},
	}})
	fmt.Println(answer.Kind, answer.Status)
	// Output:
	// POST /v1/locks/release release-locks@2026-11-21T03:00:00Z
	// fresh 200
}

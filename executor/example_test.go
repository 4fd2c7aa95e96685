package executor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/targets"
)

// caller makes the calls of a registry: those of the nightly purge in this process, all
// others over HTTP.
type caller struct {
	nightly cleanup.Nightly
	http    *targets.Targets
}

func (c caller) Call(ctx context.Context, call executor.Call) executor.Answer {
	if call.Work.Call.Target == jobs.BuiltinTarget {
		return c.nightly.Call(ctx, call)
	}
	return c.http.Call(ctx, call)
}

// A program that runs a registry of its own, on an embedded ledger, until its
// context ends.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, "for", r.Header.Get("Cronce-Job-Id"))
		cancel() // one call is enough for an example
	}))
	defer service.Close()
	os.Setenv("MEMBERSHIP_URL", service.URL)
	defer os.Unsetenv("MEMBERSHIP_URL")

	registry, err := jobs.NewRegistry(
		jobs.Name("acme-platform"),
		jobs.Job{
			ID:           "release-commission-locks",
			Schedule:     "* * * * * *",
			TargetURLEnv: "MEMBERSHIP_URL",
			Path:         "/v1/admin/commission-locks/release-expired",
		},
	)
	if err != nil {
		panic(err)
	}
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	ledger, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer ledger.Close()
	calls, err := targets.New(targets.Config{Registry: registry})
	if err != nil {
		panic(err)
	}
	defer calls.Close()
	purge := cleanup.New(registry, nil, ledger) // nil: no key stores, only old runs of the ledger

	scheduler, err := executor.New(executor.Config{
		Registry: registry,
		Ledger:   ledger,
		Caller:   caller{cleanup.Nightly{Purge: purge}, calls},
	})
	if err != nil {
		panic(err)
	}
	if err := scheduler.Run(ctx); err != nil {
		panic(err)
	}
	// Output: POST /v1/admin/commission-locks/release-expired for release-commission-locks
}

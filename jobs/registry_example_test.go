package jobs_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cronce/cronce/jobs"
)

func ExampleNewRegistry() {
	registry, err := jobs.NewRegistry(
		jobs.Name("acme-platform"),
		jobs.Target{Name: "membership", URLEnv: "MEMBERSHIP_URL"},
		jobs.Job{
			ID:       "release-commission-locks",
			Schedule: "cron(0 * * * ? *)",
			Target:   "membership",
			Path:     "/v1/admin/commission-locks/release-expired",
			Scopes:   []string{"membership:admin"},
		},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, j := range registry.Jobs() {
		fmt.Println(j.ID, j.Target, j.Timeout)
	}
	// Output:
	// purge-expired-keys cronce 1h0m0s
	// release-commission-locks membership 30s
}

func ExampleNewRegistry_problems() {
	_, err := jobs.NewRegistry(jobs.Job{ID: "a", Schedule: "0 25 * * *", TargetURLEnv: "ACME_URL", Path: "/a"})
	var problems jobs.Problems
	errors.As(err, &problems)
	for _, p := range problems {
		fmt.Printf("%s %q\n", p.Code, p.Job)
	}
	// Output:
	// missing_name ""
	// bad_schedule "a"
}

func ExampleLoad() {
	registry, err := jobs.Load("../examples/registry.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	j, _ := registry.Job("release-commission-locks")
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	fmt.Println(registry.Name(), jobs.RunID(j.ID, at))
	fmt.Println(j.Method, j.Target, j.Path)
	fmt.Printf("%s\n", j.RequestBody(jobs.RunID(j.ID, at), at))
	// Output:
	// acme-platform release-commission-locks@2026-11-21T03:00:00Z
	// POST membership /v1/admin/commission-locks/release-expired
	// {"reason":"hold expired"}
}

func ExampleRegistry_CheckEnv() {
	registry, _ := jobs.NewRegistry(jobs.Name("acme"),
		jobs.Job{ID: "a", Schedule: "@daily", TargetURLEnv: "NO_SUCH_VARIABLE", Path: "/a"})
	fmt.Println(registry.CheckEnv(os.LookupEnv))
	// Output:
	// job "a": jobs[0].targetUrlEnv: the environment variable NO_SUCH_VARIABLE is not set [unset_variable]
}

func ExampleParseRunID() {
	job, at, token, err := jobs.ParseRunID("release-commission-locks@2026-11-21T03:00:00Z~0192f0c1")
	fmt.Println(job, at, token, err)
	// Output:
	// release-commission-locks 2026-11-21 03:00:00 +0000 UTC 0192f0c1 <nil>
}

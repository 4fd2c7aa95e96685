package jobs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
)

func BenchmarkParse1000Jobs(b *testing.B) {
	var file strings.Builder
	file.WriteString("name: acme\njobs:\n")
	for i := range 1000 {
		fmt.Fprintf(&file, "  - id: job-%d\n    schedule: \"%d 3 * * *\"\n    targetUrlEnv: ACME_URL\n    path: /v1/jobs/%d\n    retry: { backoff: [1s, 5s] }\n", i, i%60, i)
	}
	data := []byte(file.String())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := jobs.Parse("f", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewRegistry10000Jobs(b *testing.B) {
	entries := []jobs.Entry{jobs.Name("acme")}
	for i := range 10_000 {
		entries = append(entries, release(func(j *jobs.Job) { j.ID = fmt.Sprintf("job-%d", i) }))
	}
	for b.Loop() {
		if _, err := jobs.NewRegistry(entries...); err != nil {
			b.Fatal(err)
		}
	}
}

package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

// BenchmarkInit is what a cold start spends before it asks for an event:
// registry, proof, targets.
func BenchmarkInit(b *testing.B) {
	for _, n := range []int{10, 300} {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			env := map[string]string{
				"CRONCE_CONFIG": registryFile(b, manyJobs(n)), "MEMBERSHIP_URL": "http://127.0.0.1:1", "MEMBERSHIP_TOKEN": "secret",
				"CRONCE_DATABASE_URL": "postgres://127.0.0.1/cronce",
			}
			for b.Loop() {
				if _, err := newHandler(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, slog.New(slog.DiscardHandler)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBesideHello compares the function with one that does nothing, and with
// one that makes the same call of a target, built with the same flags. Each round asks all of them
// in turn, so that a machine that becomes busy is so for all; the ratios are those of the medians.
func BenchmarkBesideHello(b *testing.B) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(service.Close)
	db := testdb.Postgres(b)
	if _, err := migrate.Up(b.Context(), db); err != nil {
		b.Fatal(err)
	}
	function := func(config, url string) *fakelambda.Environment {
		return fakelambda.New(b, binary(b, "bootstrap"),
			"CRONCE_CONFIG="+config, "MEMBERSHIP_URL="+service.URL, "MEMBERSHIP_TOKEN=secret", "CRONCE_DATABASE_URL="+url)
	}
	one := registryFile(b, releaseJob)
	const refused = `{"tick":true,"no":"event"}` // answered as soon as the process is ready
	all := []*compared{
		{name: "hello", fn: fakelambda.New(b, binary(b, "hello")), payload: func() string { return refused }},
		{name: "hello-call", fn: fakelambda.New(b, binary(b, "hello"), "HELLO_URL="+service.URL), payload: func() string { return refused }},
		{name: "stateless", fn: function(one, ""), payload: released},
		{name: "ledger", fn: function(one, db), payload: released},
		{name: "10-jobs", fn: function(registryFile(b, manyJobs(10)), ""), payload: func() string { return refused }},
		{name: "300-jobs", fn: function(registryFile(b, manyJobs(300)), ""), payload: func() string { return refused }},
	}
	for b.Loop() {
		for _, c := range all {
			c.fn.Kill()
			c.first = append(c.first, c.ask())
			for range 3 {
				c.ask() // the allocator and the connections settle
			}
			c.warm = append(c.warm, c.ask())
		}
	}
	for _, c := range all {
		b.ReportMetric(float64(median(c.first).Microseconds())/1000, c.name+"-first-ms")
		b.ReportMetric(float64(median(c.warm).Microseconds())/1000, c.name+"-warm-ms")
	}
}

// compared is a function, and how long its answers took.
type compared struct {
	name        string
	fn          *fakelambda.Environment
	payload     func() string
	first, warm []time.Duration
}

func (c *compared) ask() time.Duration {
	ev := fakelambda.Event{RequestID: "r", Payload: c.payload()}
	start := time.Now()
	c.fn.Invoke(ev)
	return time.Since(start)
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// released is work of its own for the job release.
func released() string {
	return fmt.Sprintf(`{"jobId":"release","id":%q}`, uuid.Must(uuid.NewV7()))
}

func manyJobs(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "  - { id: job-%d, schedule: \"%d * * * *\", target: membership, path: /v1/%d }\n", i, i%60, i)
	}
	return list.String()
}

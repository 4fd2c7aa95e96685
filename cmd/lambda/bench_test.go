package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

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
			var list strings.Builder
			for i := range n {
				fmt.Fprintf(&list, "  - { id: job-%d, schedule: \"%d * * * *\", target: membership, path: /v1/%d }\n", i, i%60, i)
			}
			env := map[string]string{
				"CRONCE_CONFIG": registryFile(b, list.String()), "MEMBERSHIP_URL": "http://127.0.0.1:1", "MEMBERSHIP_TOKEN": "secret",
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

// BenchmarkColdStart is a process's whole way from its start to its first
// answer, a refusal that needs neither ledger nor target.
func BenchmarkColdStart(b *testing.B) {
	config := registryFile(b, releaseJob)
	info, err := os.Stat(binary(b, "bootstrap"))
	if err != nil {
		b.Fatal(err)
	}
	fn := fakelambda.New(b, binary(b, "bootstrap"),
		"CRONCE_CONFIG="+config, "MEMBERSHIP_URL=http://127.0.0.1:1", "MEMBERSHIP_TOKEN=secret", "CRONCE_DATABASE_URL=")
	for b.Loop() {
		if out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: `{"tick":true}`}); out.Error == nil || !out.Cold {
			b.Fatalf("outcome %+v", out)
		}
		fn.Kill()
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}

// BenchmarkWarm is one event at a process that waits for it: one call of a
// target on this machine, each a run of its own, with and without a ledger.
func BenchmarkWarm(b *testing.B) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(service.Close)
	db := testdb.Postgres(b)
	if _, err := migrate.Up(b.Context(), db); err != nil {
		b.Fatal(err)
	}
	for name, url := range map[string]string{"stateless": "", "postgres": db} {
		b.Run(name, func(b *testing.B) {
			fn := fakelambda.New(b, binary(b, "bootstrap"),
				"CRONCE_CONFIG="+registryFile(b, releaseJob), "MEMBERSHIP_URL="+service.URL, "MEMBERSHIP_TOKEN=secret", "CRONCE_DATABASE_URL="+url)
			for b.Loop() {
				payload := fmt.Sprintf(`{"jobId":"release","id":%q}`, uuid.Must(uuid.NewV7()))
				if out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: payload}); out.Error != nil || out.Crashed {
					b.Fatalf("outcome %+v", out)
				}
			}
		})
	}
}

package executor_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/targets"
)

// BenchmarkRuns measures the whole path, scheduled time to recorded outcome: many
// jobs that are due every second, more than can be run, each one POST to a
// loopback target. Run it with a fixed count of runs:
//
//	go test ./executor -run '^$' -bench Runs -benchtime 40000x
func BenchmarkRuns(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		url := testdb.Postgres(b)
		if _, err := migrate.Up(b.Context(), url); err != nil {
			b.Fatal(err)
		}
		l, err := postgres.Open(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		benchmarkRuns(b, l)
	})
	b.Run("sqlite", func(b *testing.B) {
		l, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		benchmarkRuns(b, l)
	})
}

func benchmarkRuns(b *testing.B, l executor.Ledger) {
	var done atomic.Int64
	begun, reached := make(chan struct{}), make(chan struct{})
	svc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
		switch done.Add(1) {
		case 1:
			close(begun)
		case int64(b.N) + 1:
			close(reached)
		}
	}))
	defer svc.Close()
	reg := benchRegistry(b)
	calls, err := targets.New(targets.Config{Registry: reg, Lookup: func(string) (string, bool) { return svc.URL, true }})
	if err != nil {
		b.Fatal(err)
	}
	defer calls.Close()
	e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: calls})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	<-begun // the jobs are declared; from here on it is runs alone
	before := cpu(b)
	b.ResetTimer()
	<-reached
	b.StopTimer()
	used := cpu(b) - before
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-us/run")
}

func benchRegistry(b *testing.B) *jobs.Registry {
	entries := []jobs.Entry{jobs.Name("bench"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for i := range 20_000 {
		entries = append(entries, jobs.Job{
			ID: fmt.Sprintf("job-%05d", i), Schedule: "* * * * * *", Target: "svc",
			Path: fmt.Sprintf("/%d", i), Overlap: jobs.OverlapAllow,
		})
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		b.Fatal(err)
	}
	return reg
}

// cpu is the time that this process, the target's server in it included, has
// spent on processors.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

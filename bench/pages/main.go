// Command pages measures how long the pages of the dashboard and the lists of the API take
// with very many runs in the ledger, on SQLite and on PostgreSQL, and how large they are. The first
// request of each page is of a process that has just started; its hours are counted, as
// processes do while they run.
//
//	make bench-peers PEERS=pages
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/web"
)

func main() {
	rig.Child(contenders.CroncePostgres)
	runs := flag.Int("runs", 1_000_000, "how many finished runs")
	rounds := flag.Int("rounds", 100, "requests for each page")
	engines := flag.String("engine", "both", "sqlite, postgres or both")
	flag.Parse()
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s; %d runs of %d jobs\n\n", about, *runs, jobCount)
		dir, err := os.MkdirTemp("", "cronce-pages-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		for name, open := range map[string]func() (ledger.Store, error){
			"sqlite":   func() (ledger.Store, error) { return openSQLite(ctx, dir, *runs) },
			"postgres": func() (ledger.Store, error) { return openPostgres(ctx, b.Databases, *runs) },
		} {
			if *engines != "both" && *engines != name {
				continue
			}
			fmt.Fprintf(os.Stderr, "writing %d finished runs to %s\n", *runs, name)
			store, err := open()
			if err != nil {
				return err
			}
			if err := measure(ctx, name, store, *rounds); err != nil {
				return err
			}
			if err := store.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages are what is asked for: each page, and the filters that find little.
func pages(busiest string) []string {
	day := func(ago time.Duration) string {
		return url.QueryEscape(time.Now().UTC().Add(-ago).Format("2006-01-02 15:04"))
	}
	return []string{
		"/", "/?span=30d", "/jobs", "/jobs/" + busiestJob, "/jobs/" + jobID(7), "/jobs/" + busiestJob + "?at=" + day(time.Hour), "/runs",
		"/runs?job=" + busiestJob, "/runs?since=" + day(50*24*time.Hour) + "&until=" + day(49*24*time.Hour),
		"/runs?state=dead&group=1", "/runs?state=dead&unacknowledged=1", "/runs?state=missed", "/runs?state=canceled", "/runs?reason=payload_mismatch",
		"/runs?job=" + busiestJob + "&state=missed", "/runs?job=" + busiestJob + "&state=dead&group=1", "/runs?job=nobody",
		"/runs/" + url.PathEscape(busiest), "/targets", "/targets/env:SVC_URL", "/targets/env:SVC_URL?span=30d", "/keys", "/processes", "/audit",
		"/pauses", "/jobs?sort=slower", "/find?q=" + jobID(7)[:3],

		"/v1/status", "/v1/jobs?limit=50", "/v1/jobs/" + busiestJob, "/v1/runs?limit=100", "/v1/runs?job=" + busiestJob + "&limit=100",
		"/v1/runs?state=dead&limit=100", "/v1/runs?state=dead&unacknowledged=true&limit=100", "/v1/runs?state=canceled",
		"/v1/runs?job=" + busiestJob + "&state=missed",
		"/v1/runs/" + url.PathEscape(busiest), "/v1/incidents", "/v1/audit", "/v1/processes",
	}
}

func measure(ctx context.Context, name string, store ledger.Store, rounds int) error {
	reg, err := registry()
	if err != nil {
		return err
	}
	newest, err := store.List(ctx, ledger.Filter{JobID: busiestJob, Limit: 1})
	if err != nil || len(newest) == 0 {
		return fmt.Errorf("no run of %s: %w", busiestJob, err)
	}
	steps, start := 0, time.Now()
	for more := true; more; steps++ {
		if more, err = store.RollUp(ctx); err != nil {
			return err
		}
	}
	fmt.Printf("%s: hours counted in %d steps of %s ms\n\n", name, steps, ms(time.Since(start)/time.Duration(steps)))
	ops := operations.New(operations.Config{Ledger: store, Registry: func() (*jobs.Registry, error) { return reg, nil }})
	mux := http.NewServeMux()
	mux.Handle("/v1/", api.New(api.Config{Operations: ops, Gate: api.NewGate(new(everyone)), Logger: slog.New(slog.DiscardHandler)}))
	mux.Handle("/", web.New(web.Config{
		Ledger: store, Engine: name, Version: "bench",
		Serving: func() web.Serving {
			return web.Serving{Registry: reg, Process: "p", Breakers: map[string]string{}}
		},
		Operations: ops,
	}))
	var rows [][]string
	for _, path := range pages(newest[0].ID) {
		var took []time.Duration
		var first time.Duration
		size, used := 0, cpu()
		for i := range rounds + 1 {
			start := time.Now()
			answer := ask(ctx, mux, path)
			d := time.Since(start)
			if answer.Code != http.StatusOK {
				return fmt.Errorf("%s: %d: %s", path, answer.Code, answer.Body)
			}
			if size = answer.Body.Len(); i == 0 {
				first = d
			} else {
				took = append(took, d)
			}
		}
		used = (cpu() - used) / time.Duration(rounds+1)
		slices.Sort(took)
		rows = append(rows, []string{
			"`" + path + "`", ms(first), ms(took[len(took)/2]), ms(took[len(took)*95/100]), ms(took[len(took)-1]), ms(used),
			fmt.Sprintf("%.0f", float64(size)/1000), fmt.Sprintf("%.0f", zipped(ctx, mux, path)),
		})
	}
	fmt.Printf("%s, ms\n\n%s\n", name, rig.Table([]string{"page", "first", "p50", "p95", "most", "CPU", "kB", "kB sent"}, rows))
	return nil
}

// everyone admits each request as another person: one may ask 100 times a second.
type everyone struct{ asked int }

func (e *everyone) Identify(*http.Request) (access.Identity, error) {
	e.asked++
	return access.Identity{Name: fmt.Sprint("asker-", e.asked), Role: access.Admin}, nil
}

// cpu is the CPU that this process has used: with SQLite in it, without PostgreSQL.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }

func ask(ctx context.Context, h http.Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(access.NewContext(ctx, access.Identity{Role: access.Admin})))
	return w
}

func zipped(ctx context.Context, h http.Handler, path string) float64 {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.Copy(z, ask(ctx, h, path).Body) // a buffer takes all
	_ = z.Close()
	return float64(b.Len()) / 1000
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/ledger"
)

var errServerClosed = http.ErrServerClosed

// stalledAfter is how long the planner may look for nothing before the process
// counts as hung: longer than a ledger that fails holds it up.
const stalledAfter = 2 * time.Minute

// healthMux answers what watches the process. A warning does not make it less
// ready: traffic and calls go on.
func healthMux(fleet *rollover.Fleet[*instance], m *telemetry.Metrics) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", liveness(func() time.Duration { return fleet.Current().PlannerAge() }))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := fleet.Current().Ready(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
		for _, text := range servesDespite(fleet) {
			fmt.Fprintln(w, "warning:", text)
		}
	})
	mux.Handle("GET /metrics", limited(m.Handler()))
	mountCompletion(mux, fleet)
	mux.Handle("GET "+jwksPath, jwksHandler(fleet))
	return mux
}

// limited bounds how often each network gets an answer that costs work, since it needs
// no identity.
func limited(h http.Handler) http.Handler {
	rates := access.NewRateLimiter(5, 10)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rates.Allow(access.Network(r.RemoteAddr)) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "this address asks for the metrics more often than 5 times a second; ask again after Retry-After", http.StatusTooManyRequests)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// liveness answers 503 once the planner has not looked for due runs for longer
// than stalledAfter: restart the process.
func liveness(plannerAge func() time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if age := plannerAge(); age > stalledAfter {
			http.Error(w, "stalled: the planner has not looked for due runs for "+age.Round(time.Second).String(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

func newServer(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler: inTime(h),
		// "OPTIONS *" too is answered only by the server's own names.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            5 * time.Second,
		// A client that does not read its answer would keep its place among the requests
		// in progress. A stream sets its own deadline.
		WriteTimeout:   2 * time.Minute,
		IdleTimeout:    time.Minute,
		MaxHeaderBytes: 16 << 10, // net/http reads 4 KiB more
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
}

// readBody is how long a request's body may take to arrive.
const readBody = 10 * time.Second

// inTime bounds how long a body takes to arrive. Before it answers, the standard
// library waits for the rest of one that no handler reads, for as long as the
// client likes.
func inTime(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			conn := http.NewResponseController(w)
			_ = conn.SetReadDeadline(time.Now().Add(readBody)) // every connection has one
			r.Body = &arriving{r.Body, conn}
		}
		h.ServeHTTP(w, r)
	})
}

// arriving is a body. Once it is there the deadline ends: a later one would cancel
// the request.
type arriving struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *arriving) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{}) // as above
	}
	return n, err
}

// countsOf asks the ledger for its counts, for a scrape.
func countsOf(ctx context.Context, s ledger.Store) func() (ledger.Counts, error) {
	return func() (ledger.Counts, error) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return s.Counts(ctx)
	}
}

// troublesOf asks the ledger what is wrong with single jobs, for a scrape.
func troublesOf(ctx context.Context, s ledger.Store) func() (telemetry.Troubles, error) {
	return func() (t telemetry.Troubles, err error) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if t.Incidents, err = s.Incidents(ctx, ledger.IncidentFilter{Open: true, Limit: ledger.MaxIncidentPage}); err != nil {
			return t, err
		}
		dead, err := s.List(ctx, ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: 1000})
		t.Dead = map[string]int{}
		for _, r := range dead {
			t.Dead[r.JobID] += r.Count
		}
		return t, err
	}
}

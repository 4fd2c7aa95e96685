package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/rollover"
	"github.com/cronce/cronce/internal/telemetry"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// stalledAfter is how long the planner may look for nothing before the process
// counts as hung: longer than a ledger that fails holds it up.
const stalledAfter = 2 * time.Minute

// silentAfter is the time after which a process is not ready if the ledger does not answer the
// planner. A database that accepts connections and does not answer shows no other sign.
const silentAfter = 30 * time.Second

// Ready returns nil if the instance can plan and record now, or else why not.
func (i *instance) Ready() error {
	if age := i.PlannerAge(); age > silentAfter {
		return fmt.Errorf("the ledger has not answered the planner for %s", age.Round(time.Second))
	}
	return i.Executor.Ready()
}

// healthMux answers what watches the process. A warning does not make it less
// ready: traffic and calls go on. From the end of ctx on the process stops: it is not
// ready, and it is alive although its planner rests.
func healthMux(ctx context.Context, fleet *rollover.Fleet[*instance], m *telemetry.Metrics) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", liveness(func() time.Duration {
		if ctx.Err() != nil {
			return 0
		}
		return fleet.Current().PlannerAge()
	}))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ctx.Err() != nil {
			http.Error(w, "not ready: stopping; calls in flight end", http.StatusServiceUnavailable)
			return
		}
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
			http.Error(w, "this address asks for the metrics more often than 5 times a second; ask again after Retry-After",
				http.StatusTooManyRequests)
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

// scraped bounds a question to the ledger for which a scrape of the metrics waits.
func scraped[T any](ctx context.Context, ask func(context.Context) (T, error)) func() (T, error) {
	return func() (T, error) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return ask(ctx)
	}
}

// schedulesOf asks the ledger for the counters of templates. Templates of the registry that have
// no schedule yet are not in them.
func schedulesOf(s ledger.Store, registry func() *jobs.Registry) func(context.Context) ([]telemetry.TemplateSchedules, error) {
	return func(ctx context.Context) (list []telemetry.TemplateSchedules, err error) {
		counts, err := s.Templates(ctx)
		for _, c := range counts {
			t, _ := registry().Template(c.Template)
			list = append(list, telemetry.TemplateSchedules{Template: c.Template, Schedules: c.Schedules, Max: t.Max})
		}
		return list, err
	}
}

// troublesOf asks the ledger what is wrong with single jobs.
func troublesOf(s ledger.Store) func(context.Context) (telemetry.Troubles, error) {
	return func(ctx context.Context) (t telemetry.Troubles, err error) {
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

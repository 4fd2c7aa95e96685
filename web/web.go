package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Ledger is the part of a ledger.Store that the pages read. It has no method that writes: actions go through
// Config.Operations, which has their rules.
type Ledger interface {
	ledger.RunReader
	ledger.JobReader
	ledger.HourReader
	Pauses(ctx context.Context, ended bool) ([]ledger.Pause, error)
	Incidents(context.Context, ledger.IncidentFilter) ([]ledger.Incident, error)
	Processes(context.Context) ([]ledger.Process, error)
	Audit(context.Context, ledger.AuditFilter) ([]ledger.Audit, error)
}

// Config configures the dashboard. Ledger, Serving and Operations are required.
type Config struct {
	Ledger Ledger
	// Serving returns the state of this process. Each request asks for it, so that a reload shows at once.
	Serving func() Serving
	// Operations explains what became of a time, previews actions and does them.
	Operations *operations.Service
	Actions    bool   // offer actions and exports; without it the dashboard changes nothing
	Version    string // of the program
	Engine     string // of the ledger: "postgres" or "sqlite"
	Logger     *slog.Logger
	Now        func() time.Time // default time.Now
}

// Serving is the current state of the process. A reload of the registry changes it.
type Serving struct {
	Registry *jobs.Registry
	Process  string // its ID in the ledger
	// Breakers has the state of this process's circuit breaker for each target:
	// "closed", "half-open" or "open".
	Breakers      map[string]string
	PurgeWarning  string // what is wrong with the nightly purge; "" when nothing is
	ReloadWarning string // why the registry could not be reloaded; "" when it could
}

// Dashboard serves the pages. It is safe for concurrent use. It keeps no state of requests and starts no goroutine.
type Dashboard struct {
	Config
	handler http.Handler
}

// pageTimeout is the time within which the ledger has to answer all that one page asks. After it, the reader gets an
// error page.
const pageTimeout = 5 * time.Second

// New returns the dashboard. Its map of addresses is the list of pages: a page is a method that turns a request into a
// view. What redirects or is not a page follows the map.
func New(c Config) *Dashboard {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	pages()
	d := &Dashboard{Config: c}
	mux := http.NewServeMux()
	for pattern, page := range map[string]func(*http.Request) (view, error){
		"GET /{$}":                        d.overview,
		"GET /jobs":                       d.jobs,
		"GET /jobs/{id}":                  d.job,
		"GET /runs":                       d.runs,
		"GET /runs/{id...}":               d.run,
		"GET /targets":                    d.targets,
		"GET /targets/{id}":               d.target,
		"GET /keys":                       d.keys,
		"GET /processes":                  d.processes,
		"GET /pauses":                     d.pausesPage,
		"GET /audit":                      d.audit,
		"GET " + actionsPath + "{action}": d.actionPage,
		"GET /{unknown...}":               func(*http.Request) (view, error) { return view{}, errNoPage },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, page) })
	}
	mux.HandleFunc("GET /find", d.find)
	mux.HandleFunc("POST "+actionsPath+"{action}", d.postAction)
	mux.HandleFunc("POST /zone", d.chooseZone)
	mux.HandleFunc("GET /assets/{name}", serveAsset)
	d.handler = secure(mux)
	return d
}

// ServeHTTP answers a request that package serve has admitted. The request's context has the identity of its sender
// (package access), by which actions and bodies are offered or hidden.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// registry returns the registry that is served now. Two calls within one request may return two registries, as a reload
// may come between them.
func (d *Dashboard) registry() *jobs.Registry { return d.Serving().Registry }

func (d *Dashboard) now() time.Time { return d.Now().UTC() }

// serve answers a request for a page. It calls page and adds what every page has: the problems at the top, the menu,
// and the notice of an action that was done. An error becomes a page too, with its status.
func (d *Dashboard) serve(w http.ResponseWriter, r *http.Request, page func(*http.Request) (view, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	v, err := page(d.readInZone(r))
	status := cmp.Or(v.Status, http.StatusOK)
	if err != nil {
		v, status = d.failure(r, err)
	}
	if v.Health == nil {
		h, err := d.health(ctx)
		if err != nil && status == http.StatusOK {
			v, status = d.failure(r, err)
		}
		v.Health = &h
	}
	f := d.frame(r, v)
	f.Notice = noticeOf(r)
	if err := render(w, r, status, f); err != nil {
		d.Logger.Error("dashboard page not rendered", "path", r.URL.Path, "error", err)
	}
}

// pageError is an error that the reader can correct, such as an unknown name. Its page says what is wrong and what to
// do. All other errors are taken for failures of the ledger; see failure.
type pageError struct {
	status       int
	what, remedy string
}

func (e *pageError) Error() string { return e.what + " " + e.remedy }

// missing returns a pageError with status 404.
func missing(what, remedy string) error {
	return &pageError{http.StatusNotFound, what, remedy}
}

// errNoPage answers an address that no page has.
var errNoPage = missing("No page has this address.", "Choose one in the menu above.")

// invalid returns a pageError with status 400.
func invalid(what, remedy string) error {
	return &pageError{http.StatusBadRequest, what, remedy}
}

// failure returns the page for an error, and its status. The text of an error that is no pageError goes to the log
// alone: it may name hosts and tables, which a viewer need not know. The page of a failure reloads itself until the
// ledger is back; that of a pageError does not.
func (d *Dashboard) failure(r *http.Request, err error) (view, int) {
	var known *pageError
	switch {
	case errors.As(err, &known):
	case errors.Is(err, context.DeadlineExceeded):
		known = &pageError{http.StatusGatewayTimeout, "The ledger did not answer within " + pageTimeout.String() + ".",
			"Narrow the filters by job or by time, or look at the load of the database."}
	default:
		d.Logger.Warn("dashboard page failed", "path", r.URL.Path, "error", err)
		known = &pageError{http.StatusServiceUnavailable, "The ledger cannot be read now.",
			"This page tries again by itself. The log of this process has the cause; \"/readyz\" says when the ledger is back."}
	}
	return view{Template: "failure", Title: cmp.Or(http.StatusText(known.status), "Error"), Data: failureView{known.what, known.remedy},
		Still: known.status < http.StatusInternalServerError}, known.status
}

type failureView struct{ What, Remedy string }

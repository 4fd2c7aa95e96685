package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
)

// Config configures New.
type Config struct {
	Operations *operations.Service
	// Gate admits the requests.
	Gate   *Gate
	Logger *slog.Logger
}

// Bounds on a request.
const (
	maxBody      = 1 << 20
	maxQuery     = 8 << 10
	readBody     = 10 * time.Second // for all of the body to arrive
	answerRead   = 30 * time.Second
	answerAction = time.Minute
)

type server struct {
	ops  *operations.Service
	log  *slog.Logger
	mux  *http.ServeMux
	gate *Gate
}

// New returns the handler of /v1.
func New(c Config) http.Handler {
	s := &server{ops: c.Operations, log: c.Logger, mux: http.NewServeMux(), gate: c.Gate}
	s.reads()
	s.schedules()
	for _, a := range operations.Actions {
		s.serveAction(a)
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.noRoute(w, r) })
	return s.guard(s.mux)
}

// queryFunc returns the answer to a query, which is sent as JSON.
type queryFunc func(context.Context, *http.Request, *params) (any, error)

// get serves a query to viewers and the roles above. It refuses every parameter that is not in
// allowed.
func (s *server) get(pattern string, tagged bool, answer queryFunc, allowed ...string) {
	s.getAs(access.Viewer, pattern, tagged, answer, allowed...)
}

func (s *server) getAs(least access.Role, pattern string, tagged bool, answer queryFunc, allowed ...string) {
	s.handle("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := permit(r, least); err != nil {
			s.fail(w, r, err)
			return
		}
		q := query(r, allowed...)
		if q.err != nil {
			s.fail(w, r, q.err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerRead)
		defer cancel()
		v, err := answer(ctx, r, q)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.write(w, r, v, tagged)
	})
}

// noRoute tells a wrong method from a wrong path.
func (s *server) noRoute(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		s.fail(w, r, problem(http.StatusNotFound, "not_found", "no such resource; /v1/openapi.yaml lists them"))
		return
	}
	for _, method := range allowed {
		w.Header().Add("Allow", method)
	}
	s.fail(w, r, problem(http.StatusMethodNotAllowed, "method_not_allowed",
		"the resource does not take the method "+r.Method+"; use "+allowed[0]))
}

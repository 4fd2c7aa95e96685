package api

import (
	"net/http"

	"github.com/cronce/cronce/internal/access"
)

// Gate admits requests. It identifies who makes a request, and limits how many requests
// an identity makes in a second and has in progress. The API and the dashboard of a
// process share one Gate.
type Gate struct {
	control  access.Control
	rates    *access.RateLimiter
	programs *access.RateLimiter // of the role scheduler
	requests *concurrencyLimit
	exports  *concurrencyLimit // of the requests
}

// NewGate returns a Gate that identifies requests by an access control.
func NewGate(control access.Control) *Gate {
	return &Gate{control: control, rates: access.NewRateLimiter(100, 200), programs: access.NewRateLimiter(2000, 4000),
		// The requests in progress share the ledger's connections with the process's own work:
		// when all of them wait, the work is still on time.
		requests: &concurrencyLimit{what: "requests", ofIdentity: 32, ofProcess: 128, by: map[string]int{}},
		// An export lasts as long as its client reads: slow clients must not take all requests.
		exports: &concurrencyLimit{what: "exports", ofIdentity: 4, ofProcess: 16, by: map[string]int{}}}
}

// Admit returns the identity that makes a request, and counts the request. Its error is a
// *Problem.
func (g *Gate) Admit(r *http.Request) (access.Identity, error) {
	who, err := g.control.Identify(r)
	if err != nil {
		return who, problemOf(err)
	}
	rates, most := g.rates, "100"
	if who.Role == access.Scheduler {
		rates, most = g.programs, "2,000"
	}
	if !rates.Allow(who.Principal()) {
		return who, problem(http.StatusTooManyRequests, "too_many_requests",
			"this identity asks more often than "+most+" times a second; ask again after Retry-After")
	}
	return who, nil
}

// Begin counts an admitted request as in progress until end is called. If too many are
// in progress, it returns a *Problem.
func (g *Gate) Begin(who access.Identity) (end func(), err error) {
	return g.requests.enter(who.Principal())
}

// OnlyHosts serves the requests whose Host and Origin are hosts of the listener, and
// answers others with a Problem.
func OnlyHosts(hosts access.Hosts, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := hosts.Check(r); err != nil {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			writeProblem(w, problemOf(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guard stands before every request of the API.
func (s *server) guard(next http.Handler) http.Handler {
	csrf := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		r, err := s.admit(r, csrf)
		if err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admit returns a request that may go on, with who makes it.
func (s *server) admit(r *http.Request, csrf *http.CrossOriginProtection) (*http.Request, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return nil, problem(http.StatusRequestURITooLong, "query_too_long", "the query is longer than 8 KiB")
	}
	if err := csrf.Check(r); err != nil {
		return nil, forbidden("the request comes from another site; the API takes none from browsers of other origins")
	}
	who, err := s.gate.Admit(r)
	if err != nil {
		return nil, err
	}
	return r.WithContext(access.NewContext(r.Context(), who)), nil
}

// handle serves a pattern, and counts its requests as in progress.
func (s *server) handle(pattern string, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		end, err := s.gate.Begin(access.FromContext(r.Context()))
		if err != nil {
			s.fail(w, r, err)
			return
		}
		defer end()
		h(w, r)
	})
}

func forbidden(detail string) error { return problem(http.StatusForbidden, "forbidden", detail) }

// permit refuses a request whose identity has less than a role.
func permit(r *http.Request, least access.Role) error {
	if who := access.FromContext(r.Context()); who.Role < least {
		return forbidden(who.Needs(least.String()))
	}
	return nil
}

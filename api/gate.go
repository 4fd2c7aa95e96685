package api

import (
	"log/slog"
	"net/http"

	"github.com/cronce/cronce/api/access"
)

// gate stands before every request: it bounds and identifies it.
type gate struct {
	control access.Control
	csrf    *http.CrossOriginProtection
	limits  *limiter
	log     *slog.Logger
}

func newGate(c access.Control, log *slog.Logger) *gate {
	return &gate{control: c, csrf: http.NewCrossOriginProtection(), limits: newLimiter(), log: log}
}

func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		who, err := g.admit(r)
		if err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), who)))
	})
}

// admit says who makes a request that may go on.
func (g *gate) admit(r *http.Request) (access.Identity, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return access.Identity{}, problem(http.StatusRequestURITooLong, "query_too_long", "the query is longer than 8 KiB")
	}
	if err := g.csrf.Check(r); err != nil {
		return access.Identity{}, forbidden("the request comes from another site; the API takes none from browsers of other origins")
	}
	who, err := g.control.Identify(r)
	if err != nil {
		if !g.limits.allow("refused:" + remoteHost(r)) {
			return who, tooMany
		}
		return who, err
	}
	if !g.limits.allow(who.Principal()) {
		return who, tooMany
	}
	return who, nil
}

var tooMany = problem(http.StatusTooManyRequests, "too_many_requests", "this identity asks more often than 100 times a second; ask again after Retry-After")

func forbidden(detail string) error { return problem(http.StatusForbidden, "forbidden", detail) }

// permit refuses a request whose identity has less than a role.
func permit(r *http.Request, least access.Role) error {
	if who := access.Of(r.Context()); who.Role < least {
		return forbidden("this needs the role " + least.String() + ", and " + who.Principal() + " is a " + who.Role.String())
	}
	return nil
}

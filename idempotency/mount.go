package idempotency

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// misplaced says how a [Kit.Handler] is mounted so that it cannot do its part,
// and what to do instead. Requests are refused until that is mended.
type misplaced string

func (m misplaced) Error() string { return string(m) }

const (
	inTransaction misplaced = "The handler of an idempotency kit runs inside a transaction, and would answer before that is committed." +
		" Mount it once, on the route and not on the router too; in a transaction of your own use Do."
	withoutPattern misplaced = "The handler of an idempotency kit has no key scope, since the request has no pattern." +
		" Mount it on the route, inside the router, or set Route.Scope: the pattern is known inside of http.ServeMux and chi (v5.2 or later)."
	aroundRouter misplaced = "The handler of an idempotency kit is mounted around a router, so that its routes share one key " +
		"scope and one TTL." +
		" Mount it on each route, inside the router, or set Route.Scope."
	oneScope misplaced = "Two handlers of one idempotency kit have the default key scope %q, so that their keys could meet." +
		" Set Route.Scope on each of them. Make a handler once, and not for each request."
)

// scope is the route's, or the default one of the pattern under which the
// router found the handler.
func (h *handler) scope(r *http.Request) (string, error) {
	if h.route.Scope != "" {
		return h.route.Scope, nil
	}
	if r.Pattern == "" {
		return "", withoutPattern
	}
	pattern := r.Pattern
	if _, path, hasMethod := strings.Cut(pattern, " "); hasMethod {
		pattern = strings.TrimLeft(path, " \t")
	}
	scope := RouteScope(r.Method, pattern)
	if !h.kit.scopes.take(scope, h) {
		return "", misplaced(fmt.Sprintf(string(oneScope), scope))
	}
	return scope, nil
}

// checkRouted refuses a default scope if a router inside of the handler has
// found the route: it is known only now, and the work is rolled back.
func (h *handler) checkRouted(outside, inside *http.Request) error {
	if h.route.Scope == "" && outside.Pattern != inside.Pattern {
		return aroundRouter
	}
	return nil
}

// scopes are the default scopes in use, each by the one handler that may use
// it. The zero scopes are ready.
type scopes struct {
	mu     sync.Mutex
	owners map[string]*handler
}

// maxScopes is the number of scopes that are remembered: no service has as many routes, but a
// client may make up methods.
const maxScopes = 10_000

// take reports whether the scope is the handler's.
func (s *scopes) take(scope string, h *handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, taken := s.owners[scope]
	if !taken && len(s.owners) < maxScopes {
		if s.owners == nil {
			s.owners = map[string]*handler{}
		}
		s.owners[scope] = h
	}
	return !taken || owner == h
}

package api

import (
	"net"
	"net/http"
	"sync"

	"golang.org/x/time/rate"
)

const (
	perSecond = 100
	burst     = 200
	// maxLimited is how many identities are told apart: past it all begin anew.
	maxLimited = 10_000
)

// limiter bounds how often an identity asks.
type limiter struct {
	mu sync.Mutex
	by map[string]*rate.Limiter
}

func newLimiter() *limiter { return &limiter{by: map[string]*rate.Limiter{}} }

func (l *limiter) allow(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	of, ok := l.by[name]
	if !ok {
		if len(l.by) >= maxLimited {
			clear(l.by)
		}
		of = rate.NewLimiter(perSecond, burst)
		l.by[name] = of
	}
	return of.Allow()
}

func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

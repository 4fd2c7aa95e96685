package access

import (
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

const (
	perSecond = 100
	burst     = 200
	// maxRated is how many names are told apart: past it all begin anew.
	maxRated = 10_000
)

// RateLimiter limits how often each name may do something: 100 times a second, and up to
// 200 times at once. It is safe for concurrent use.
type RateLimiter struct {
	mu sync.Mutex
	by map[string]*rate.Limiter
}

// NewRateLimiter returns a RateLimiter without any use counted.
func NewRateLimiter() *RateLimiter { return &RateLimiter{by: map[string]*rate.Limiter{}} }

// Allow reports whether name may do it now, and counts it.
func (r *RateLimiter) Allow(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, ok := r.by[name]
	if !ok {
		if len(r.by) >= maxRated {
			clear(r.by)
		}
		of = rate.NewLimiter(perSecond, burst)
		r.by[name] = of
	}
	return of.Allow()
}

// network is what one client's addresses have in common: an IPv4 address, or the
// first 64 bits of an IPv6 address, whose rest a client chooses.
func network(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}

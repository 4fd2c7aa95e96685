package access

import (
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// maxRated is the number of names that have counts of their own: past it all begin anew.
const maxRated = 10_000

// RateLimiter limits how often each name may do something. It is safe for concurrent use.
type RateLimiter struct {
	perSecond, burst int

	mu sync.Mutex
	by map[string]*rate.Limiter
}

// NewRateLimiter returns a RateLimiter that allows each name perSecond uses a second on
// average, and burst at once.
func NewRateLimiter(perSecond, burst int) *RateLimiter {
	return &RateLimiter{perSecond: perSecond, burst: burst, by: map[string]*rate.Limiter{}}
}

// Allow reports whether name may do it now, and counts it.
func (r *RateLimiter) Allow(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, ok := r.by[name]
	if !ok {
		if len(r.by) >= maxRated {
			clear(r.by)
		}
		of = rate.NewLimiter(rate.Limit(r.perSecond), r.burst)
		r.by[name] = of
	}
	return of.Allow()
}

// Network returns the network of one client's addresses: an IPv4 address, or the
// first 64 bits of an IPv6 address, whose rest a client chooses.
func Network(remote string) string {
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

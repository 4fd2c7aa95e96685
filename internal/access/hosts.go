package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Hosts are the names and addresses by which a listener may be asked. A web page can
// make its own name resolve to the listener's address (DNS rebinding), but not an IP
// address or a name of somebody else.
type Hosts struct {
	local bool // the listener has a loopback address
	names []string
}

// NewHosts returns the hosts of a --listen address: localhost, the name that the
// address has, further names, and IP addresses. On a loopback address these are the
// loopback addresses, on any other all except the unspecified ones.
func NewHosts(listen string, names ...string) Hosts {
	h := Hosts{local: IsLoopback(listen), names: []string{"localhost"}}
	for _, name := range append(names, hostOf(listen)) {
		if name != "" {
			h.names = append(h.names, strings.ToLower(strings.TrimSuffix(name, ".")))
		}
	}
	return h
}

// Check returns a *DeniedError if the Host of a request, or the Origin that a browser
// sends, is not one of the hosts.
func (h Hosts) Check(r *http.Request) error {
	if !h.has(hostOf(r.Host)) {
		return &DeniedError{http.StatusMisdirectedRequest, "wrong_host",
			fmt.Sprintf("the host %q is not a name of this server; use its IP address, or list the name in --allow-host of serve", r.Host)}
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || !h.has(u.Hostname()) {
			return &DeniedError{http.StatusForbidden, "forbidden",
				fmt.Sprintf("the request comes from a page of %q, which is not a name of this server; if it is the name of a proxy in "+
					"front of it, list the name in --allow-host of serve", origin)}
		}
	}
	return nil
}

func (h Hosts) has(host string) bool {
	if slices.Contains(h.names, strings.ToLower(strings.TrimSuffix(host, "."))) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	return err == nil && !ip.IsUnspecified() && (ip.IsLoopback() || !h.local)
}

// hostOf is an address with or without a port, without it.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ProxyTokenHeader is the header field of a proxy's token.
const ProxyTokenHeader = "Cronce-Proxy-Token"

// proxy is a reverse proxy that authenticates users.
type proxy struct {
	from         []netip.Prefix
	user, groups string   // header names
	hashes       [][]byte // SHA-256 of the tokens that the proxy may send; none: its address alone proves it
}

func (r *rules) addProxy(d document) error {
	if d.Proxy == nil {
		return nil
	}
	p := &proxy{user: d.Proxy.UserHeader, groups: d.Proxy.GroupsHeader}
	if p.user == "" || len(d.Proxy.From) == 0 {
		return errors.New("proxy needs from (the addresses that the proxy calls from, as CIDR) and userHeader")
	}
	for _, text := range d.Proxy.From {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("proxy.from: %q is not a CIDR such as 10.1.2.0/24", text)
		}
		p.from = append(p.from, unmap(prefix))
	}
	for family, bits := range map[string]int{"IPv4": 32, "IPv6": 128} {
		if share(p.from, bits) > maxShare {
			return fmt.Errorf("proxy.from covers more than 1/64 of all %s addresses, so that strangers could name themselves; give "+
				"only the addresses of the proxy", family)
		}
	}
	for i, text := range d.Proxy.Hashes {
		hash, err := parseHash(text)
		if err != nil {
			return fmt.Errorf("proxy.hashes[%d]: %w", i, err)
		}
		p.hashes = append(p.hashes, hash)
	}
	r.proxy = p
	return nil
}

// mapped are the IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2).
var mapped = netip.MustParsePrefix("::ffff:0.0.0.0/96")

// unmap returns a network of IPv4-mapped addresses as the IPv4 network that it is. All
// IPv4 addresses are in one that is larger than them.
func unmap(p netip.Prefix) netip.Prefix {
	p = p.Masked()
	switch {
	case p.Addr().Is4() || !p.Overlaps(mapped):
		return p
	case p.Bits() >= mapped.Bits():
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped.Bits())
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// maxShare is the share of a family's addresses that proxies may have: a /6, so that
// each private network fits.
const maxShare = 1.0 / 64

// share returns the part of a family's addresses that networks cover together.
func share(networks []netip.Prefix, bits int) (covered float64) {
	for i, n := range networks {
		within := func(other netip.Prefix) bool { return other.Bits() <= n.Bits() && other.Contains(n.Addr()) }
		larger := func(other netip.Prefix) bool { return other.Bits() < n.Bits() && within(other) }
		if n.Addr().BitLen() != bits || slices.ContainsFunc(networks[:i], within) || slices.ContainsFunc(networks[i:], larger) {
			continue
		}
		covered += math.Ldexp(1, -n.Bits())
	}
	return covered
}

func (p *proxy) trusts(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && slices.ContainsFunc(p.from, func(prefix netip.Prefix) bool { return prefix.Contains(at.Addr().Unmap()) })
}

// proves reports whether a request has the token of the proxy, if it needs one. All
// hashes are compared, so that the time tells nothing.
func (p *proxy) proves(r *http.Request) bool {
	tokens := r.Header.Values(ProxyTokenHeader)
	if len(p.hashes) == 0 || len(tokens) != 1 {
		return len(p.hashes) == 0
	}
	sum := sha256.Sum256([]byte(tokens[0]))
	found := 0
	for _, hash := range p.hashes {
		found |= subtle.ConstantTimeCompare(sum[:], hash)
	}
	return found == 1
}

// warning returns what is weak without being an error, or "".
func (p *proxy) warning() string {
	local := func(n netip.Prefix) bool {
		return n.Overlaps(netip.MustParsePrefix("127.0.0.0/8")) || n.Contains(netip.IPv6Loopback())
	}
	if len(p.hashes) > 0 || !slices.ContainsFunc(p.from, local) {
		return ""
	}
	return "proxy.from has a loopback address and proxy.hashes is missing, so every program on this machine can name any user; " +
		"let the proxy send a token in " + ProxyTokenHeader + " and list its hash; see docs/api.md"
}

func (r *rules) byProxy(req *http.Request) (Identity, error) {
	if !r.proxy.proves(req) {
		return Identity{}, unauthorized("the proxy must send exactly one of its tokens in the header " + ProxyTokenHeader)
	}
	names := req.Header.Values(r.proxy.user)
	if len(names) != 1 || !ValidName(names[0]) {
		return Identity{}, unauthorized("the proxy must send exactly one user name in the header " + r.proxy.user + ", of " + validNames)
	}
	var groups []string
	if r.proxy.groups != "" {
		lines := req.Header.Values(r.proxy.groups)
		if len(lines) > 1 {
			return Identity{}, unauthorized("the proxy must send the header " + r.proxy.groups + " at most once, with commas between the groups")
		}
		for name := range strings.SplitSeq(strings.Join(lines, ""), ",") {
			groups = append(groups, strings.TrimSpace(name))
		}
	}
	return r.granted(names[0], groups)
}

package targets

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/jobs"
)

// notAllowed is the error of a connection that is not made. It shows no URL.
type notAllowed struct{ why string }

func (e *notAllowed) Error() string { return e.why }

// Permanent says that another try has the same end.
func (e *notAllowed) Permanent() bool { return true }

// egress says where connections may go. An address is checked when it has been looked
// up, and the connection is made to that very address: a name that changes its
// address in between leads nowhere else.
type egress struct {
	names    []string
	networks []netip.Prefix
	proxies  sync.Map // addresses of proxies, which are the operator's own
}

// SplitAllowed returns the items of a list that is separated by commas, for Config.Allow.
func SplitAllowed(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// parseAllowed reads what Config.Allow takes: names of hosts, IP addresses and networks
// (CIDR).
func parseAllowed(list []string) (*egress, error) {
	e := &egress{}
	for _, item := range list {
		item = strings.TrimSpace(item)
		if network, err := netip.ParsePrefix(item); err == nil && !network.Addr().Is4In6() {
			e.networks = append(e.networks, network.Masked())
		} else if addr, err := netip.ParseAddr(item); err == nil {
			e.networks = append(e.networks, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
		} else if hosts.Valid(item) {
			e.names = append(e.names, strings.ToLower(strings.TrimSuffix(item, ".")))
		} else {
			return nil, bad(jobs.CodeBadValue, "%q cannot be allowed as a target; give a host name, an IP address, or a network such as 10.0.0.0/8",
				item)
		}
	}
	return e, nil
}

// Egress returns functions that open connections and choose proxies as Config.Allow and
// Config.Proxy require. They are for calls of a service that is not a target of a
// registry, and must be used together. The error is about an invalid item of allow.
func Egress(allow []string, proxy func(*http.Request) (*url.URL, error)) (
	dial func(ctx context.Context, network, address string) (net.Conn, error), through func(*http.Request) (*url.URL, error), err error,
) {
	e, err := parseAllowed(allow)
	if err != nil {
		return nil, nil, err
	}
	return e.dial(nil), e.proxy(proxy), nil
}

// metadata are addresses beside the link-local ones at which clouds give out a
// machine's credentials.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), // Amazon EC2; EKS
	netip.MustParseAddr("fd20:ce::254"),                                              // Google Cloud
	netip.MustParseAddr("168.63.129.16"),                                             // Azure
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:100::100:200"), // Alibaba Cloud
	netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle Cloud
	netip.MustParseAddr("fd00:a9fe:a9fe::1"), netip.MustParseAddr("fd00:42::42"), // Linode; Scaleway
}

// carriers are networks of IPv6 whose addresses carry one of IPv4, and where in them.
var carriers = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64 (RFC 6052)
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64 of a network's own (RFC 8215)
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4 (RFC 3056)
}

// carried returns the IPv4 address that addr embeds, to which a connection is in fact
// made; addr itself if it embeds none.
func carried(addr netip.Addr) netip.Addr {
	for _, c := range carriers {
		if c.network.Contains(addr) {
			b := addr.As16()
			return netip.AddrFrom4([4]byte(b[c.at:]))
		}
	}
	return addr
}

// check checks the address of a host. Link-local, multicast and unspecified addresses
// and those of metadata must be allowed as networks, whatever the name is.
func (e *egress) check(host string, addr netip.Addr) error {
	addr = addr.WithZone("").Unmap()
	inner := carried(addr)
	for _, network := range e.networks {
		if network.Contains(addr) || network.Contains(inner) {
			return nil
		}
	}
	if !special(inner) && (len(e.names)+len(e.networks) == 0 || e.named(host)) {
		return nil
	}
	return &notAllowed{fmt.Sprintf("the target's address %s is not allowed (--allow-target)", inner)}
}

func special(addr netip.Addr) bool {
	return addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() || slices.Contains(metadata, addr)
}

func (e *egress) named(host string) bool {
	return slices.Contains(e.names, strings.ToLower(strings.TrimSuffix(host, ".")))
}

// dial makes connections to addresses that are allowed.
func (e *egress) dial(resolver *net.Resolver) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		d := net.Dialer{Timeout: connectTime, KeepAlive: 15 * time.Second, Resolver: resolver}
		if _, own := e.proxies.Load(address); !own {
			d.Control = func(_, resolved string, _ syscall.RawConn) error {
				at, err := netip.ParseAddrPort(resolved)
				if err != nil {
					return err
				}
				return e.check(host, at.Addr())
			}
		}
		return d.DialContext(ctx, network, address)
	}
}

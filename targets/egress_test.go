package targets_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// names is a DNS server for every name: each question for an IPv4 address gets the
// next of the addresses, the last one over and over.
func names(t *testing.T, addresses ...string) (resolver *net.Resolver, asked *atomic.Int32) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(reply(buf[:n], addresses, asked), from)
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}}, asked
}

// reply answers a question (RFC 1035): its header, its question, and for type A one
// record that refers to the question's name.
func reply(query []byte, addresses []string, asked *atomic.Int32) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the root, type and class
	out := append([]byte{}, query[:end]...)
	out[2], out[3] = 0x81, 0x80
	binary.BigEndian.PutUint16(out[6:], 0)
	binary.BigEndian.PutUint32(out[8:], 0)
	if binary.BigEndian.Uint16(query[end-4:]) != 1 {
		return out
	}
	i := int(asked.Add(1)) - 1
	out[7] = 1
	out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(out, net.ParseIP(addresses[min(i, len(addresses)-1)]).To4()...)
}

// reach makes a call of a host under a policy.
func reach(t *testing.T, base string, allow []string, resolver *net.Resolver) (kind ledger.AnswerKind, why string) {
	t.Helper()
	ts := resolve(t, jobs.Target{AllowHTTP: true}, env{"MEMBERSHIP_URL": base}, func(c *targets.Config) {
		c.Allow = allow
		c.WithResolver(resolver)
	})
	a := attempt(t, ts, call(), maxWait)
	return a.Kind, a.Error
}

func portOf(t *testing.T, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

func TestWhereCallsMayGo(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := portOf(t, s.URL)
	for name, tc := range map[string]struct {
		host, at string
		allow    []string
		goes     bool
	}{
		"anywhere":                              {"svc.example", "127.0.0.1", nil, true},
		"to a name":                             {"svc.example", "127.0.0.1", []string{"other.example", "SVC.example."}, true},
		"to a network":                          {"svc.example", "127.0.0.1", []string{"127.0.0.0/8"}, true},
		"to an address":                         {"svc.example", "127.0.0.1", []string{"127.0.0.1"}, true},
		"not to another name":                   {"svc.example", "127.0.0.1", []string{"other.example"}, false},
		"not to a name that ends alike":         {"svc.example", "127.0.0.1", []string{"example"}, false},
		"not to another network":                {"svc.example", "127.0.0.1", []string{"10.0.0.0/8"}, false},
		"not to a link-local address":           {"svc.example", "169.254.169.254", nil, false},
		"not by a name that is allowed":         {"svc.example", "169.254.169.254", []string{"svc.example"}, false},
		"not to a cloud's metadata":             {"svc.example", "100.100.100.200", nil, false},
		"not to Azure's WireServer":             {"svc.example", "168.63.129.16", nil, false},
		"not to Google's metadata in IPv6":      {"[fd20:ce::254]", "", nil, false},
		"not to the credentials of pods":        {"[fd00:ec2::23]", "", nil, false},
		"not to Scaleway's metadata":            {"[fd00:42::42]", "", nil, false},
		"not to every interface":                {"svc.example", "0.0.0.0", nil, false},
		"not to the literal":                    {"169.254.169.254", "", nil, false},
		"not to the literal in IPv6":            {"[::ffff:169.254.169.254]", "", nil, false},
		"not to it behind NAT64":                {"[64:ff9b::a9fe:a9fe]", "", nil, false},
		"not to it behind a NAT64 of one's own": {"[64:ff9b:1::a9fe:a9fe]", "", nil, false},
		"not to it behind 6to4":                 {"[2002:a9fe:a9fe::1]", "", nil, false},
		"not to Oracle's metadata in IPv6":      {"[fd00:c1::a9fe:a9fe]", "", nil, false},
		"not to Alibaba's metadata in IPv6":     {"[fd00:100::100:200]", "", nil, false},
		"not to Linode's metadata in IPv6":      {"[fd00:a9fe:a9fe::1]", "", nil, false},
		"not to a link-local IPv6 literal":      {"[fe80::1]", "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			resolver, _ := names(t, tc.at)
			kind, why := reach(t, "http://"+tc.host+":"+port, tc.allow, resolver)
			if goes := kind == ledger.AnswerFresh; goes != tc.goes || !goes && (kind != ledger.AnswerFailed || !strings.Contains(why, "is not allowed (--allow-target)")) {
				t.Errorf("%s, %s", kind, why)
			}
		})
	}
}

// A name whose address changes between two look-ups is judged by the address that the
// connection is made to.
func TestANameThatChangesItsAddressLeadsNowhereElse(t *testing.T) {
	var called atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { called.Add(1) })
	resolver, asked := names(t, "127.0.0.1", "169.254.169.254")
	ts := resolve(t, jobs.Target{AllowHTTP: true}, env{"MEMBERSHIP_URL": "http://rebind.example:" + portOf(t, s.URL)},
		func(c *targets.Config) { c.WithResolver(resolver) })
	if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh || asked.Load() != 1 {
		t.Fatalf("%+v after %d look-ups, want the address that was judged to be the one that was called", a, asked.Load())
	}
	s.CloseClientConnections()
	for range 3 {
		a := attempt(t, ts, call(), maxWait)
		if strings.Contains(a.Error, "169.254.169.254 is not allowed") && a.Kind == ledger.AnswerFailed {
			if called.Load() != 1 {
				t.Errorf("%d calls", called.Load())
			}
			return
		}
	}
	t.Error("the name's other address was never refused")
}

func TestWhatCannotBeAllowedEndsTheStart(t *testing.T) {
	for _, item := range []string{"", "-", "http://svc", "10.0.0.0/33", "::ffff:10.0.0.0/104", "a b", "*.example"} {
		_, err := targets.New(targets.Config{Registry: registry(t, jobs.Target{}), Lookup: env{"MEMBERSHIP_URL": nobody}.lookup, Allow: []string{item}})
		if err == nil {
			t.Errorf("%q is taken", item)
		}
	}
}

// A proxy looks names up itself, so names alone are judged; its own address is the
// operator's choice.
func TestAProxyIsUsedAndJudgedByName(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Host) }))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		host  string
		allow []string
		goes  bool
	}{
		{"svc.example", nil, true}, {"svc.example", []string{"svc.example"}, true}, {"svc.example", []string{"other.example"}, false},
		{"svc.example", []string{"10.0.0.0/8"}, false}, {"169.254.169.254", nil, false},
	} {
		asked = nil
		ts := resolve(t, jobs.Target{AllowHTTP: true}, env{"MEMBERSHIP_URL": "http://" + tc.host}, func(c *targets.Config) {
			c.Allow, c.Proxy = tc.allow, func(*http.Request) (*url.URL, error) { return address, nil }
		})
		a := attempt(t, ts, call(), maxWait)
		if goes := a.Kind == ledger.AnswerFresh; goes != tc.goes || goes != (len(asked) == 1) || !goes && !strings.Contains(a.Error, "not allowed") {
			t.Errorf("%+v: %+v, the proxy was asked for %q", tc, a, asked)
		}
	}
}

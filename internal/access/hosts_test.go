package access_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cronce/cronce/internal/access"
)

// A name that a stranger can make resolve to the listener is not answered. An address
// cannot be made to: probes and scrapes that use it are.
func TestOnlyTheServersNamesAreAnswered(t *testing.T) {
	local := access.NewHosts("127.0.0.1:9464", "cronce.example.com")
	every := access.NewHosts(":9464", "Cronce-1.", "cronce.ops.svc")
	named := access.NewHosts("cronce.internal:9464")
	for _, c := range []struct {
		hosts access.Hosts
		host  string
		want  int // 0: answered
	}{
		{local, "localhost:9464", 0},
		{local, "LOCALHOST.", 0},
		{local, "127.0.0.1:9464", 0},
		{local, "127.8.0.1", 0},
		{local, "[::1]:9464", 0},
		{local, "[::1]", 0},
		{local, "[::ffff:127.0.0.1]:9464", 0},
		{local, "cronce.example.com", 0},
		{local, "CRONCE.example.com.:443", 0},
		{local, "10.0.0.1:9464", 421},
		{local, "evil.example:9464", 421},
		{local, "localhost.evil.example", 421},
		{local, "127.0.0.1.evil.example", 421},
		{local, "a.cronce.example.com", 421},
		{local, "cronce.example.com@evil.example", 421},
		{local, "0.0.0.0:9464", 421},
		{local, "", 421},
		{every, "10.1.2.3:9464", 0},
		{every, "[2001:db8::1]:9464", 0},
		{every, "127.0.0.1:8080", 0},
		{every, "localhost", 0},
		{every, "cronce-1:9464", 0},
		{every, "cronce.ops.svc", 0},
		{every, "0.0.0.0:9464", 421},
		{every, "[::]:9464", 421},
		{every, "[::ffff:0.0.0.0]:9464", 421},
		{every, "cronce-2:9464", 421},
		{every, "2130706433", 421}, // 127.0.0.1 to some resolvers
		{every, "", 421},
		{named, "cronce.internal:9464", 0},
		{named, "10.1.2.3", 0},
		{named, "internal", 421},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = c.host
		if got := statusOf(c.hosts.Check(r)); got != c.want {
			t.Errorf("%q: %d, want %d", c.host, got, c.want)
		}
	}
}

// A browser says from which page a request comes, where it matters.
func TestRequestsOfForeignPagesAreRefused(t *testing.T) {
	hosts := access.NewHosts("127.0.0.1:9464", "cronce.example.com")
	for origin, want := range map[string]int{
		"http://localhost:9464": 0, "http://127.0.0.1:9464": 0, "https://cronce.example.com": 0,
		"http://evil.example:9464": 403, "null": 403, "": 403, "https://": 403, "chrome-extension://abc": 403, "http://10.0.0.1": 403, "%": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = "127.0.0.1:9464"
		r.Header.Set("Origin", origin)
		if got := statusOf(hosts.Check(r)); got != want {
			t.Errorf("%q: %d, want %d", origin, got, want)
		}
		r.Header["Origin"] = []string{"http://localhost:9464", origin}
		if got := statusOf(hosts.Check(r)); got != want {
			t.Errorf("a second one, %q: %d, want %d", origin, got, want)
		}
	}
}

// statusOf is the status that a request is refused with; 0 for none.
func statusOf(err error) int {
	if denied, ok := errors.AsType[*access.DeniedError](err); ok {
		return denied.Status
	}
	return 0
}

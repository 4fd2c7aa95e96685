package hosts_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/hosts"
)

// Every goroutine has ended when the tests have.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHostsAndPortsThatCanExist(t *testing.T) {
	for _, host := range []string{
		"localhost", "membership.example.com", "membership.example.com.", "svc_1.internal", "10.0.0.1", "::1", "fe80::1%eth0", "a-b.c--d.example", "_dmarc.example_.internal",
		"xn--mnchen-3ya.example", "1.example", strings.Repeat("a", 63) + ".example",
		strings.Repeat("a.", 126) + "b", strings.Repeat("a.", 126) + "b.",
	} {
		if !hosts.Valid(host) {
			t.Errorf("%q is refused", host)
		}
	}
	for _, host := range []string{
		"", ".", "..", "...", "a..b", ".a", "-", "-a", "a-", "a.-.b", "a-.example", "a.-example", "a b", "a/b", "münchen.example", "a.example ", " a.example", "a@b", "user:a.example", "127.0.0.1.", "1.2.3", "[::1]", "::1%", "fe80::1%e th0", "fe80::1%e\r\n", "256.1.1.1", "127.1", "1.2.3.0x7f", "2130706433",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "example", strings.Repeat("a.", 126) + "bc", "a\x00",
	} {
		if hosts.Valid(host) {
			t.Errorf("%q is taken", host)
		}
	}
	for port, want := range map[string]bool{"": true, "1": true, "65535": true, "0": false, "65536": false, "99999": false, "-1": false, "http": false} {
		if hosts.ValidPort(port) != want {
			t.Errorf("port %q: want %v", port, want)
		}
	}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example": false, "128.0.0.1": false, "::2": false,
	} {
		if hosts.Loopback(host) != want {
			t.Errorf("loopback %q: want %v", host, want)
		}
	}
}

func TestPathsThatStayInPlace(t *testing.T) {
	for path, want := range map[string]bool{
		"": true, "/": true, "/a/b/": true, "/a//b": true, "/.../a..b/.c": true, "/a%2Fb%20c": true,
		"/..": false, "/../..": false, "/a/./b": false, "/%2e%2e/a": false, "/a%2f..%2fb": false, "/a%5c..%5cb": false,
		"//a": false, "/a\\b": false, "/a#b": false, "/a b": false, "/ä": false, "/a\n": false, "/%zz": false,
	} {
		if err := hosts.CheckPath(path); (err == nil) != want {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

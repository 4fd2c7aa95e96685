package targets_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

var urlSeeds = []string{
	"https://h.example", "https://h.example/p/", "http://127.0.0.1:8080", "http://[::1]", "http://[::ffff:127.0.0.1]/", "http://localhost.example",
	"https://u:s3cret@h", "https://h/?q", "https://h?", "https://h/#f", "https://h/%2e%2e/a", "https://h//", "https:h", "//h", "ftp://h", "https://h:",
	"https://h\r\nX: y", "https://h/\\", "https://[fe80::1%25eth0]/",
}

// FuzzBaseURL: a base is a host over TLS, or this machine, or allowed by the
// registry; nothing is in it that could change where a call under it goes, and
// no message shows it.
func FuzzBaseURL(f *testing.F) {
	for _, seed := range urlSeeds {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, allowHTTP bool) {
		u, err := jobs.Target{Name: "x", URLEnv: "X_URL", AllowHTTP: allowHTTP}.BaseURL(env{"X_URL": text}.lookup)
		if !readable(t, text, u, err, allowHTTP) {
			return
		}
		if u.RawQuery != "" || strings.Contains(u.Path, "..") && strings.Contains("/"+u.Path+"/", "/../") {
			t.Fatalf("%q gives %s", text, u)
		}
		if call, err := targets.Join(u, "/a"); err == nil && (call.Host != u.Host || !strings.HasSuffix(call.EscapedPath(), "/a")) {
			t.Fatalf("%q, and /a under it, gives %s", text, call)
		}
	})
}

// FuzzTokenURL: the same of a token endpoint, which may have a query.
func FuzzTokenURL(f *testing.F) {
	for _, seed := range urlSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := jobs.Auth{TokenURLEnv: "X_URL"}.TokenURL(env{"X_URL": text}.lookup)
		readable(t, text, u, err, false)
	})
}

// readable checks what holds of both, and reports whether there is a URL.
func readable(t *testing.T, text string, u *url.URL, err error, allowHTTP bool) bool {
	t.Helper()
	if err != nil {
		if len(text) > 12 && strings.Contains(err.Error(), text) && !strings.Contains("https://membership.example.com", text) {
			t.Fatalf("%q is in the message %v", text, err)
		}
		return false
	}
	if u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		t.Fatalf("%q gives %s", text, u)
	}
	if u.Scheme != "https" && !allowHTTP && !strings.EqualFold(u.Hostname(), "localhost") {
		if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.Unmap().IsLoopback() {
			t.Fatalf("%q is plain http to another machine", text)
		}
	}
	if again, err := url.Parse(u.String()); err != nil || again.Host != u.Host || again.Scheme != u.Scheme {
		t.Fatalf("%q reads as %v again, %v", text, again, err)
	}
	return true
}

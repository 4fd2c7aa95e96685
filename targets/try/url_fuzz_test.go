package try_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/targets/try"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func nobody(string) (string, bool) { return "", false }

// FuzzTryURL: what is tried is the host that was named, over TLS or on this
// machine, and no message shows the URL, which may hold a password.
func FuzzTryURL(f *testing.F) {
	for _, seed := range []string{
		"https://h.example/v1/pay?x=1", "https://h.example", "http://127.0.0.1:1", "http://[::1]/a", "http://h.example", "https://u:s3cret@h/a",
		"https://h/%2e%2e/a", "https://h/a#b", "https://h?", "//h/a", "https:h", "https://h:80:80/", "https://[::1%25lo]/",
	} {
		f.Add(seed, "")
		f.Add(seed, "/other?y")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		_, config, _, err := try.AdHocTarget{URL: text, Path: path, Method: "POST", Timeout: time.Second}.Registry(nobody)
		if err != nil {
			if len(text) > 8 && strings.Contains(err.Error(), text) {
				t.Fatalf("%q is in the message %v", text, err)
			}
			return
		}
		base, rest := config.Name, config.Job.Path
		asked, err := url.Parse(text)
		if err != nil {
			t.Fatalf("%q was taken: %v", text, err)
		}
		b, err := url.Parse(base)
		if err != nil || b.Host != asked.Host || b.User != nil || b.Scheme != "https" && !hosts.Loopback(b.Hostname()) {
			t.Fatalf("%q gives the base %q: %v", text, base, err)
		}
		if path == "" && (b.Path != "" || !strings.HasPrefix(rest, "/")) || path != "" && rest != path {
			t.Fatalf("%q, %q gives %q and %q", text, path, base, rest)
		}
	})
}

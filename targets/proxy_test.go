package targets_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// What a proxy refuses or cannot do is not the target's answer: nothing was sent, the run
// is retried, and the error names the proxy.
func TestWhatAProxyRefusesIsRetriedInItsName(t *testing.T) {
	for name, tc := range map[string]struct {
		target string
		proxy  func(net.Conn) // nil: nobody listens
		want   string
	}{
		"407 to a request":     {"http://svc.example", answers("407 Proxy Authentication Required"), "HTTP 407: the proxy asks for credentials; check those in HTTP_PROXY and HTTPS_PROXY"},
		"407 to CONNECT":       {"https://svc.example", answers("407 Proxy Authentication Required"), "through the proxy %s: HTTP 407 to CONNECT: it asks for credentials; check those in HTTPS_PROXY; nothing was sent"},
		"403 to CONNECT":       {"https://svc.example", answers("403 Forbidden"), "through the proxy %s: HTTP 403 to CONNECT: it does not connect to the target; nothing was sent"},
		"502 to CONNECT":       {"https://svc.example", answers("502 Bad Gateway"), "through the proxy %s: HTTP 502 to CONNECT: it does not connect to the target; nothing was sent"},
		"no answer to CONNECT": {"https://svc.example", func(c net.Conn) { readRequest(c) }, "through the proxy %s: the connection was closed without an answer; nothing was sent"},
		"down":                 {"https://svc.example", nil, "through the proxy %s: connection refused; nothing was sent"},
		"down, and plain http": {"http://svc.example", nil, "through the proxy %s: connection refused; nothing was sent"},
	} {
		t.Run(name, func(t *testing.T) {
			address := nobody
			if tc.proxy != nil {
				address = tcp(t, tc.proxy)
			}
			got := throughProxy(t, tc.target, address)
			want := "membership POST /v1/locks/release: " + strings.Replace(tc.want, "%s", strings.TrimPrefix(address, "http://"), 1)
			if got.Kind != ledger.AnswerFailed || got.Error != want {
				t.Errorf("%s: %q, want failed: %q", got.Kind, got.Error, want)
			}
		})
	}
}

// The name of a proxy that cannot be looked up is not the target's.
func TestAProxyWhoseHostDoesNotExistIsNamed(t *testing.T) {
	got := throughProxy(t, "https://svc.example", "http://user:hunter2@proxy.invalid:3128")
	if got.Kind != ledger.AnswerFailed || !strings.Contains(got.Error, "through the proxy proxy.invalid:3128: its host ") || strings.Contains(got.Error, "hunter2") {
		t.Errorf("%s: %q", got.Kind, got.Error)
	}
}

// A proxy that stands behind its user's credentials works, for both schemes.
func TestAProxyTakesItsCredentials(t *testing.T) {
	target := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, _, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); user != "cronce" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.Method == http.MethodConnect {
			tunnel(w, target.Listener.Addr().String())
		}
	})
	for _, scheme := range []string{"http", "https"} {
		address := url.URL{Scheme: "http", Host: strings.TrimPrefix(proxy.URL, "http://"), User: url.UserPassword("cronce", "hunter2")}
		ts := resolve(t, jobs.Target{AllowHTTP: true}, env{"MEMBERSHIP_URL": scheme + "://example.com"}, func(c *targets.Config) {
			c.RootCAs = target.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			c.Proxy = func(*http.Request) (*url.URL, error) { return &address, nil }
		})
		if got := attempt(t, ts, call(), maxWait); got.Kind != ledger.AnswerFresh {
			t.Errorf("%s: %+v", scheme, got)
		}
	}
}

// throughProxy makes a call through a proxy.
func throughProxy(t *testing.T, target, proxy string) executor.Answer {
	t.Helper()
	address, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	ts := resolve(t, jobs.Target{AllowHTTP: true}, env{"MEMBERSHIP_URL": target}, func(c *targets.Config) {
		c.Proxy = func(*http.Request) (*url.URL, error) { return address, nil }
	})
	return attempt(t, ts, call(), maxWait)
}

// answers handles a connection by one answer to its first request.
func answers(status string) func(net.Conn) {
	return func(c net.Conn) {
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status)
		}
	}
}

func tunnel(w http.ResponseWriter, to string) {
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	fmt.Fprint(near, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(far, near) }()
	_, _ = io.Copy(near, far)
}

// A proxy that cannot be used would be left out without a word.
func TestAProxyOfTheEnvironmentThatCannotBeUsedEndsTheStart(t *testing.T) {
	for value, valid := range map[string]bool{
		"": true, "proxy:3128": true, "proxy.example": true, "10.0.0.1:3128": true, "[::1]:3128": true, "http://proxy:3128": true, "http://proxy:3128/": true,
		"https://user:hunter2@proxy": true, "socks5://proxy:1080": true, "socks5h://proxy": true,
		" ": false, "http://": false, "http://:3128": false, "http://proxy:port": false, "http://proxy:99999": false, "http:/proxy:3128": false, "http://pro xy:3128": false,
		"htp://proxy:3128": false, "ftp://proxy": false, "http://us%er:hunter2@proxy": false, "http://proxy:3128/path": false, "http://proxy:3128?q": false, "://proxy": false, "proxy:3128,other:3128": false,
	} {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			proxy, err := targets.EnvironmentProxy(env{name: value}.lookup)
			switch {
			case valid && (err != nil || proxy == nil):
				t.Errorf("%s=%q: %v", name, value, err)
			case !valid && (err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
}

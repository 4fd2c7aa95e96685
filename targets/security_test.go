package targets_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// A process reads these variables once, so they stand before any test begins.
func init() {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		_ = os.Setenv(name, "http://proxy.example:3128")
	}
	_ = os.Unsetenv("NO_PROXY")
	_ = os.Unsetenv("no_proxy")
}

func TestTargetsChooseNoProxyThemselves(t *testing.T) {
	var mu sync.Mutex
	dialled := map[string]bool{}
	noNetwork := func(c *targets.Config) {
		c.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dialled[address] = true
			return nil, errors.New("no network")
		}
	}
	attempt(t, resolve(t, oauth2, oauth2Env("https://target.example", "https://token.example/t"), noNetwork), call(), maxWait)
	attempt(t, resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": "https://target.example"}, noNetwork), call(), maxWait)
	attempt(t, resolve(t, jobs.Target{AllowHTTP: true}, env{"MEMBERSHIP_URL": "http://target.example"}, noNetwork), call(), maxWait)
	mu.Lock()
	defer mu.Unlock()
	if want := map[string]bool{"token.example:443": true, "target.example:443": true, "target.example:80": true}; !maps.Equal(dialled, want) {
		t.Errorf("dialled %v, want %v", dialled, want)
	}
}

func TestATokenEndpointsRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var led atomic.Int32
		elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			led.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"a"}`))
		})
		var calls atomic.Int32
		target := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
		endpoint := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		ts := resolve(t, oauth2, oauth2Env(target.URL, endpoint.URL), nil)
		if got := attempt(t, ts, call(), maxWait); !got.Unsent || led.Load() != 0 || calls.Load() != 0 {
			t.Errorf("%d: got %+v, %d requests to where it leads, %d calls", status, got, led.Load(), calls.Load())
		}
	}
}

func TestTLSBelow12IsRefused(t *testing.T) {
	for version, want := range map[uint16]ledger.AnswerKind{tls.VersionTLS11: ledger.AnswerFailed, tls.VersionTLS12: ledger.AnswerFresh} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		quiet(s)
		s.StartTLS()
		t.Cleanup(s.Close)
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		ts := resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": s.URL}, func(c *targets.Config) { c.RootCAs = roots })
		if got := attempt(t, ts, call(), maxWait); got.Kind != want {
			t.Errorf("%s: got %+v, want %s", tls.VersionName(version), got, want)
		}
	}
}

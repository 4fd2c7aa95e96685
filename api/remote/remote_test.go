package remote_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/api/remote"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func TestAServersAddressIsChecked(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://cronce.example.com": true, "https://cronce.example.com/": true, "http://127.0.0.1:9464": true, "http://localhost:9464": true,
		"http://cronce.example.com": false, "cronce.example.com": false, "ftp://h": false, "https://u:s3cret@h": false, "https://h?x=1": false, "https://h:99999": false, "": false,
	} {
		_, err := remote.New(remote.Config{URL: url, Token: "t0ken"})
		if (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "t0ken")) {
			t.Errorf("%q: a secret is in %v", url, err)
		}
	}
	if _, err := remote.New(remote.Config{URL: "https://h", Token: "a b"}); err == nil {
		t.Error("a token with a space was taken")
	}
}

// A redirect could take the token elsewhere.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	s, err := remote.New(remote.Config{URL: server.URL, Token: "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP 307") {
		t.Errorf("%v", err)
	}
}

func TestAListEndsWhenItsServerRepeatsAPage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"next": "1"}`)
	}))
	defer server.Close()
	s, err := remote.New(remote.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]func() error{
		"jobs": func() error { _, err := s.Jobs(t.Context(), operations.Selection{}); return err },
		"runs": func() error {
			_, err := s.Runs(t.Context(), operations.Selection{}, ledger.Filter{Limit: 10})
			return err
		},
		"incidents": func() error {
			_, err := s.Incidents(t.Context(), operations.Selection{}, ledger.IncidentFilter{Limit: 10})
			return err
		},
	}
	for name, list := range lists {
		if err := list(); err == nil || !strings.Contains(err.Error(), "just sent") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a repetition cannot change is reported at once.
func TestAServerWithoutTrustedTLSIsNotAskedAgain(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	notHTTP, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer notHTTP.Close()
	go func() {
		for c, err := notHTTP.Accept(); err == nil; c, err = notHTTP.Accept() {
			_, _ = c.Write([]byte("220 ready\r\n"))
			c.Close()
		}
	}()
	for address, want := range map[string]string{
		plain.Listener.Addr().String(): "does not speak TLS", notHTTP.Addr().String(): "does not speak TLS", untrusted.Listener.Addr().String(): "is not trusted",
	} {
		s, err := remote.New(remote.Config{URL: "https://" + address})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // less than a request is repeated
		defer cancel()
		if _, err := s.Status(ctx); err == nil || !strings.Contains(err.Error(), want) || ctx.Err() != nil {
			t.Errorf("%s: %v, want %q at once", address, err, want)
		}
	}
}

// A mutation whose answer was lost is repeated under the same key.
func TestAMutationIsRepeatedUnderItsKey(t *testing.T) {
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		switch len(keys) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"code":"ledger_unavailable","detail":"busy"}`))
		default:
			_, _ = w.Write([]byte(`{"jobId":"tick","state":"paused"}`))
		}
	}))
	defer server.Close()
	s, err := remote.New(remote.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var done operations.JobActionResult
	err = s.DoAction(t.Context(), "pause", "tick", operations.ActionRequest{By: "ann", Why: "x"}, &done)
	if err != nil || done.State != "paused" || len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("%+v, %v, keys %q", done, err, keys)
	}
}

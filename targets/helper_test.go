package targets_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const runID = "release-locks@2026-11-21T03:00:00Z"

// maxWait is an attempt's time where its end is not what is tested: longer
// than the slowest machine needs.
const maxWait = time.Minute

// nobody is an address that nobody listens on. A port that was free a moment
// ago may be somebody's now.
const nobody = "http://127.0.0.1:1"

// env is an environment.
type env map[string]string

func (e env) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

// registry has one target, "membership".
func registry(t testing.TB, target jobs.Target) *jobs.Registry {
	t.Helper()
	target.Name, target.URLEnv = "membership", "MEMBERSHIP_URL"
	r, err := jobs.NewRegistry(jobs.Name("acme"), target)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// resolve makes Targets for one target; edit may change the configuration.
func resolve(t testing.TB, target jobs.Target, e env, edit func(*targets.Config)) *targets.Targets {
	t.Helper()
	c := targets.Config{Registry: registry(t, target), Lookup: e.lookup, Version: "1.2.3"}
	if edit != nil {
		edit(&c)
	}
	ts, err := targets.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ts.Close)
	return ts
}

// to makes Targets whose one target is at url, without authorization.
func to(t testing.TB, url string) *targets.Targets {
	t.Helper()
	return resolve(t, jobs.Target{}, env{"MEMBERSHIP_URL": url}, nil)
}

// serve runs a target.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// call is the first attempt of one run.
func call() executor.Call {
	return executor.Call{Registry: "acme", Work: ledger.Work{
		RunID:       runID,
		JobID:       "release-locks",
		ScheduledAt: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
		Attempt:     1,
		SendBefore:  time.Now().Add(time.Hour),
		Call: ledger.CallSpec{
			Target: "membership", Method: "POST", Path: "/v1/locks/release",
			Body: json.RawMessage(`{"reason":"hold expired"}`),
		},
	}}
}

// attempt makes one call within the given time.
func attempt(t testing.TB, ts *targets.Targets, c executor.Call, within time.Duration) executor.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return ts.Call(ctx, c)
}

// tcp runs a server that handles bare connections.
func tcp(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		accept(l, handle)
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func accept(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		handle(c)
		_ = c.Close()
	}
}

// quiet keeps servers from logging the handshakes that a test makes fail.
func quiet(servers ...*httptest.Server) {
	for _, s := range servers {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
	}
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// piped dials a server in memory that handles bare connections.
func piped(handle func(net.Conn)) dialer {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			handle(far)
		}()
		return near, nil
	}
}

// dialBy dials each address by its own dialer.
func dialBy(byAddress map[string]dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return byAddress[address](ctx, network, address)
	}
}

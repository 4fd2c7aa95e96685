package cli_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/targets/conform"
)

// goService builds the example in Go. It returns a function that gives its address, and
// the command that serves it with an engine of the kit.
func goService(t *testing.T) func(t *testing.T, engine, database string) (url string, command []string) {
	t.Helper()
	path := t.TempDir() + "/service"
	if out, err := exec.Command("go", "build", "-o", path, "../../examples/conform").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(t *testing.T, engine, database string) (string, []string) {
		address := freeAddress(t)
		return "http://" + address, []string{"env", "ENGINE=" + engine, "DATABASE_URL=" + database, "LISTEN=" + address, path}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// The kit for Go keeps every rule on every engine, and the command starts a service again
// that dies in the middle of its work.
func TestConformOfTheExampleInGo(t *testing.T) {
	service := goService(t)
	for engine, database := range map[string]func(testing.TB) string{
		"pgsql":    testdb.Postgres,
		"postgres": testdb.Postgres,
		"mysql":    testdb.MariaDB,
		"sqlite":   func(t testing.TB) string { return t.TempDir() + "/service.db" },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url, command := service(t, engine, database(t))
			d := newDesk(t, exampleRegistry)
			code, out, errs := d.run(append([]string{"conform", "--json", "--url", url, "--"}, command...)...)
			var report conform.Report
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatalf("exit %d: %s%s: %v", code, out, errs, err)
			}
			if code != 0 || !report.Conforms || report.Count(conform.Passed) != len(conform.Cases()) {
				t.Errorf("exit %d: %+v\n%s", code, report, errs)
			}
			if !strings.Contains(errs, "started again") {
				t.Errorf("the service did not die: %s", errs)
			}
			if _, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), time.Second); err == nil {
				t.Error("the service still runs")
			}
		})
	}
}

// The suite calls where serve would, and nowhere else.
func TestConformCallsWhereServeMay(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(s.Close)
	d := newDesk(t, exampleRegistry)
	for _, args := range [][]string{{"--url", s.URL, "--allow-target", "10.0.0.0/8"}, {"--url", "http://169.254.169.254"}} {
		// An hour of waiting: an answer that cannot change ends the wait for the service.
		code, _, errs := d.run(append([]string{"conform", "--wait", "1h"}, args...)...)
		if code != exitFailed || !strings.Contains(errs, "is not allowed (--allow-target)") || asked.Load() != 0 {
			t.Errorf("%v: exit %d after %d requests: %s", args, code, asked.Load(), errs)
		}
	}
	if code, _, errs := d.run("conform", "--url", s.URL, "--allow-target", "10.0.0.0/99"); code != exitUsage || !strings.Contains(errs, "--allow-target") {
		t.Errorf("exit %d: %s", code, errs)
	}
	_, _, errs := d.run("conform", "--wait", "1ms", "--url", s.URL, "--allow-target", "127.0.0.1")
	if asked.Load() == 0 {
		t.Errorf("not asked: %s", errs)
	}
}

// A proxy of the environment is used, as by serve.
func TestConformGoesThroughTheProxy(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.RequestURI)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	c := exec.Command(os.Args[0], "conform", "--wait", "1ms", "--url", "http://service.example")
	c.Env = append(os.Environ(), "CRONCE_TEST_AS_BINARY=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=")
	out, err := c.CombinedOutput()
	if err == nil || seen.Load() != "http://service.example/conform" {
		t.Errorf("the proxy saw %v: %v\n%s", seen.Load(), err, out)
	}
}

func TestGoldenConform(t *testing.T) {
	t.Parallel()
	url := sloppyService(t)
	d := newDesk(t, exampleRegistry)
	out := &screen{width: 80}
	var errs strings.Builder
	args := []string{"conform", "--url", url, "--wait", "1ms", "--only", "one-effect,json-meaning,crash,send-before-syntax"}
	if code := runAt(t.Context(), args, streams{strings.NewReader(""), out, &errs}, d.lookup, time.Now); code != exitFailed {
		t.Errorf("exit %d: %s", code, &errs)
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("more than 80 characters: %s", line)
		}
	}
	golden(t, "conform", strings.ReplaceAll(out.String(), url, "http://127.0.0.1:PORT"))
}

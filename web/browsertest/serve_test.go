package browsertest_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/testproc"
)

// binary is cronce, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(suite{m})
}

// suite builds cronce before the tests and closes the browser after them.
type suite struct{ *testing.M }

func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "cronce-browsertest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "cronce")
	build := exec.Command("go", "build", "-o", binary, "github.com/cronce/cronce/cmd/scheduler")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build cronce: %v\n%s", err, out)
		return 1
	}
	defer func() { closeBrowser() }()
	return s.M.Run()
}

// server is a running "cronce serve".
type server struct {
	t          *testing.T
	config, db string
	url        string
	process    *testproc.Process
}

var dashboardURL = regexp.MustCompile(`serving the dashboard" url=(\S+)`)

// serve starts cronce and waits for its dashboard.
func serve(t *testing.T, config, db string, env ...string) *server {
	t.Helper()
	s := &server{t: t, config: config, db: db}
	s.process = testproc.Start(t, exec.Command(binary, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0"),
		append([]string{"BILLING_TOKEN=token-of-the-test"}, env...)...)
	t.Cleanup(s.stop)
	eventually(t, "the dashboard", func() bool {
		m := dashboardURL.FindStringSubmatch(s.process.Log.String())
		if m != nil {
			s.url = m[1][:len(m[1])-1]
		}
		return m != nil
	})
	return s
}

func (s *server) stop() {
	_ = s.process.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	s.process.Wait()
}

// run runs a command on the server's ledger.
func (s *server) run(args ...string) string {
	s.t.Helper()
	out, err := exec.Command(binary, append(args, "--config", s.config, "--db", s.db)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("cronce %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// target is a service that answers every call.
func target(t *testing.T, answer http.HandlerFunc) (env string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return "SVC_URL=" + s.URL
}

func fine(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }

// eventually waits up to maxWait: a busy machine is slow.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

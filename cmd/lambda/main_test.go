package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/examples/target/membership"
	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

// builds are the binaries under test, each built once, when a test asks for it.
var builds = map[string]func() (string, error){
	"bootstrap": builtFunction("bootstrap", "./cmd/lambda"),
	"hello":     builtFunction("hello", "./cmd/lambda/testdata/hello"),
	"cronce":    built("cronce", "go", "build", "-o", out, "./cmd/scheduler"),
}

// builtFunction builds with SHIPPED=1 (make test-lambda) as it is shipped. That compiles all
// packages again, with other flags; without it, those of the tests serve.
func builtFunction(name, folder string) func() (string, error) {
	if os.Getenv("SHIPPED") != "" {
		return built(name, "scripts/build-lambda", runtime.GOARCH, out, folder)
	}
	return built(name, "go", "build", "-o", out, folder)
}

// out stands for the binary's path in the command that builds it.
const out = "OUT"

var buildDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "cronce-lambda-test") })

func built(name, command string, args ...string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := buildDir()
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, name)
		args := slices.Clone(args)
		args[slices.Index(args, out)] = path
		cmd := exec.Command(command, args...)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
		return path, nil
	})
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir, err := buildDir(); err == nil {
			_ = os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

func binary(t testing.TB, name string) string {
	t.Helper()
	path, err := builds[name]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// target is the example's service, which uses the idempotency kit, behind a
// entry point that a test can call.
type target struct {
	t       *testing.T
	service *membership.Service
	handler http.Handler
	url     string

	mu    sync.Mutex
	calls map[string]int // by run ID
	// after, when set, is called when the work is done and committed, before
	// the answer goes out; the answer is lost when it returns false.
	after func(n int) bool
	// held, when set, is the run whose answers wait for free.
	held string
	free <-chan struct{}
}

func newTarget(t *testing.T) *target {
	t.Helper()
	service, err := membership.Open(t.Context(), filepath.Join(t.TempDir(), "target.db"), "secret", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tg := &target{t: t, service: service, handler: service.Handler(), calls: map[string]int{}}
	server := httptest.NewServer(tg)
	tg.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = service.Close()
	})
	return tg
}

func (tg *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	tg.mu.Lock()
	tg.calls[key]++
	n, after, free := tg.calls[key], tg.after, tg.free
	if key != tg.held {
		free = nil
	}
	tg.mu.Unlock()
	recorded := httptest.NewRecorder()
	tg.handler.ServeHTTP(recorded, r)
	if free != nil {
		<-free
	}
	if after != nil && !after(n) {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), recorded.Header())
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

func (tg *target) hold(after func(n int) bool) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.after = after
}

// holdRun keeps back the answers to one run until free is closed.
func (tg *target) holdRun(runID string, free <-chan struct{}) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.held, tg.free = runID, free
}

// effects is how often each run's work was applied.
func (tg *target) effects() map[string]int {
	tg.t.Helper()
	got, err := tg.service.Effects(context.WithoutCancel(tg.t.Context()))
	if err != nil {
		tg.t.Fatal(err)
	}
	return got
}

// wantEffects says that these runs, and no others, had one effect each.
func (tg *target) wantEffects(runIDs ...string) {
	tg.t.Helper()
	got := tg.effects()
	if len(got) != len(runIDs) {
		tg.t.Errorf("effects of %d runs, want %d: %v", len(got), len(runIDs), got)
	}
	for _, id := range runIDs {
		if got[id] != 1 {
			tg.t.Errorf("%d effects of %s", got[id], id)
		}
	}
}

// callsOf is how often a run was asked for.
func (tg *target) callsOf(runID string) int {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	return tg.calls[runID]
}

const registryHead = `version: 1
name: acme
targets: { membership: { urlEnv: MEMBERSHIP_URL, keepAnswers: 1h, auth: { type: bearer, token: { env: MEMBERSHIP_TOKEN } } } }
keyTTLs: [ { scope: "route:POST_/v1/admin/books/close-day", ttl: 50000h } ]
jobs:
`

const releaseJob = `  - { id: release, schedule: "* * * * *", target: membership, path: /v1/admin/commission-locks/release-expired, timeout: 20s, retry: { backoff: [100ms, 200ms] } }
`

func registryFile(t testing.TB, jobs string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cronce.yaml")
	if err := os.WriteFile(path, []byte(registryHead+jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// function is an environment of the real binary; db "" is stateless.
func (tg *target) function(config, db string) *fakelambda.Environment {
	return fakelambda.New(tg.t, binary(tg.t, "bootstrap"),
		"CRONCE_CONFIG="+config, "CRONCE_DATABASE_URL="+db, "MEMBERSHIP_URL="+tg.url, "MEMBERSHIP_TOKEN=secret")
}

// minute is the present minute: a scheduled time of the job release.
func minute() time.Time { return time.Now().UTC().Truncate(time.Minute) }

func releaseEvent(at time.Time) string {
	return fmt.Sprintf(`{"jobId":"release","scheduledAt":%q}`, at.Format(time.RFC3339))
}

func releaseRun(at time.Time) string { return "release@" + at.Format(time.RFC3339) }

// migrated opens the ledger that the function uses, its tables made.
func migrated(t *testing.T, url string) *postgres.Ledger {
	t.Helper()
	if _, err := migrate.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func mustRuns(t *testing.T, l *postgres.Ledger, f ledger.Filter) []ledger.Run {
	t.Helper()
	f.Limit = 10_000
	runs, err := l.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

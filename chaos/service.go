package chaos

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

// serviceSchema holds the service's keys and effects, apart from the ledger.
const serviceSchema = "service"

// effectsTable has no constraint that would hide work done twice.
const effectsTable = `CREATE TABLE service.effects (run_id text NOT NULL, begun timestamptz NOT NULL, at timestamptz NOT NULL)`

// The environment of the service's process.
const (
	envService  = "CHAOS_SERVICE" // the address to listen on
	envDatabase = "CHAOS_SERVICE_DATABASE"
	envCalls    = "CHAOS_SERVICE_CALLS"   // the file of calls
	envKeyless  = "CHAOS_SERVICE_KEYLESS" // not empty: the service does without the kit
	envBusy     = "CHAOS_SERVICE_BUSY"    // not empty: the service is too busy now and then
	envOpened   = "CHAOS_SERVICE_OPENED"  // the file that is there when no tenant is closed any more
	envToken    = "SERVICE_TOKEN"
)

// IsTarget reports whether this process is to be a target.
func IsTarget() bool {
	return os.Getenv(envService) != "" || os.Getenv(envWorker) != "" || os.Getenv(envWorkerPart) != ""
}

// ServeTarget is the target that the environment asks for.
func ServeTarget() error {
	switch {
	case os.Getenv(envWorkerPart) != "":
		doScriptWork(os.Args[1])
		return nil
	case os.Getenv(envWorker) != "":
		return serveWorker()
	}
	return serveService()
}

// serveService is the target service: its handlers work through the kit's
// transaction, now and then slowly, now and then failing after the work.
func serveService() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	calls, err := os.OpenFile(os.Getenv(envCalls), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer calls.Close()
	pool, err := pgxpool.New(ctx, os.Getenv(envDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	kit, err := idempotency.New(postgres.New(pool, postgres.Options{Schema: serviceSchema}), idempotency.Options{
		Principal: principal, Wait: 300 * time.Millisecond, MaxRun: 4 * time.Second, StoreTimeout: 2 * time.Second, Logger: log,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	handler := kit.Handler(idempotency.Route{}, work(func(ctx context.Context) execer { return postgres.Tx(ctx) }))
	if keyless() {
		handler = work(func(context.Context) execer { return pool })
	}
	if os.Getenv(envBusy) != "" {
		handler = busy(handler)
	}
	w := &witness{file: calls, next: handler}
	mux.Handle("POST /apply/{job}", w)
	mux.Handle("POST /apply/{job}/{key}", w)
	mux.HandleFunc("GET /tenants", w.tenants)
	server := &http.Server{Addr: os.Getenv(envService), Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close() // its connections are the harness's to break
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// busy turns one call in 25 away for longer than a function lives, so that all
// deliveries of its event are used up before the run may be tried again.
func busy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rand.IntN(25) == 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((lambdaTimeout + 2*time.Second).Seconds())))
			http.Error(w, "come back later", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func principal(r *http.Request) (string, error) {
	token := []byte("Bearer " + os.Getenv(envToken))
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), token) != 1 {
		return "", errors.New("wrong token")
	}
	return r.Header.Get("Cronce-Registry"), nil
}

func keyless() bool { return os.Getenv(envKeyless) != "" }

type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// work writes the effect. Its failures come after the write, which must be
// rolled back with them.
func work(on func(context.Context) execer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, begun, run := r.Context(), time.Now(), r.Header.Get(idempotency.HeaderKey)
		_, err := on(ctx).Exec(ctx, `INSERT INTO service.effects VALUES ($1, $2, clock_timestamp())`, run, begun)
		if err == nil {
			err = linger(ctx, r.PathValue("job"))
		}
		switch {
		case err != nil:
			http.Error(w, "try again", http.StatusInternalServerError)
		case rand.IntN(odds()) == 0:
			panic("the service fails after its work")
		default:
			fmt.Fprintf(w, `{"run":%q}`, run)
		}
	})
}

// odds that work does not fail are these to one.
func odds() int {
	if keyless() {
		return 5
	}
	return 50
}

// linger is how long the work takes: the slow job's more than a call waits,
// which without keys would come to no end.
func linger(ctx context.Context, job string) error {
	d := time.Duration(rand.IntN(40)) * time.Millisecond
	if job == "slow" && !keyless() {
		d = 2 * time.Second
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// seen is a line of the file of calls: a call as it arrived, (Status set) how it was
// answered, or a list.
type seen struct {
	Run      string
	Text     string   `json:",omitempty"`
	Status   int      `json:",omitempty"`
	Replayed bool     `json:",omitempty"`
	List     []string `json:",omitempty"`
}

// witness writes down every call before the kit sees it.
type witness struct {
	mu   sync.Mutex
	file *os.File
	next http.Handler
}

func (s *witness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler) // cut off on its way: nothing that could be compared
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	run := r.Header.Get(idempotency.HeaderKey)
	s.note(seen{Run: run, Text: fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Cronce-Scheduled-At"), body)})
	out := &status{ResponseWriter: w}
	if open(r.PathValue("key")) {
		s.next.ServeHTTP(out, r)
	} else {
		http.Error(out, "the tenant is closed", http.StatusNotFound)
	}
	s.note(seen{Run: run, Status: out.code, Replayed: w.Header().Get(idempotency.HeaderReplayed) == "true"})
}

// note appends one line, in one write, so that a kill leaves it whole or absent.
func (s *witness) note(line seen) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // a struct of strings
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.file.Write(append(text, '\n')); err != nil {
		panic(err)
	}
}

// status remembers the status that a handler answered with.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	if s.code == 0 {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

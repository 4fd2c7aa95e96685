package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// The environment of the worker's process.
const (
	envWorker       = "CHAOS_WORKER"        // the address to listen on
	envWorkerEngine = "CHAOS_WORKER_ENGINE" // what keeps its keys
	envWorkerKeys   = "CHAOS_WORKER_KEYS"   // the address of that
	envWorkerDir    = "CHAOS_WORKER_DIR"    // for the files of the script
	envWorkerSteps  = "CHAOS_WORKER_STEPS"  // the URL that is told of each step
	envWorkerPart   = "CHAOS_WORKER_PART"   // not empty: this process is the work of the script, see doScriptWork
)

// The work takes four times the timeout of a call.
const (
	workParts = 8
	partTakes = 250 * time.Millisecond
)

// reach tells the harness that a run has reached a step, and goes on when it answers. It
// may have killed this process instead.
func reach(step, runID string) {
	r, err := http.Post(os.Getenv(envWorkerSteps)+"?"+url.Values{"at": {step}, "run": {runID}}.Encode(), "", nil)
	if err == nil {
		_ = r.Body.Close()
	}
}

// serveWorker is the target of long work.
func serveWorker() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	handler, end, err := workerHandler(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: os.Getenv(envWorker), Handler: stepping(handler), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		end()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// workerHandler makes the handler of the engine; end hands its work over.
func workerHandler(ctx context.Context) (h http.Handler, end func(), err error) {
	engine, keys, dir := os.Getenv(envWorkerEngine), os.Getenv(envWorkerKeys), os.Getenv(envWorkerDir)
	if engine == EngineScript {
		self, err := os.Executable()
		script := &cgi.Handler{Path: keys, Dir: dir, Env: []string{"DATA=" + dir, "WORK=" + self, envWorkerPart + "=1"},
			InheritEnv: []string{envWorkerSteps}}
		return script, func() {}, err
	}
	k, err := openKeys(ctx, engine, keys)
	if err != nil {
		return nil, nil, err
	}
	return k.kit.Accept(idempotency.Route{Scope: "long", Poll: time.Second}, longWorkOf(k)), func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		if err := k.kit.Shutdown(over); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		k.close()
	}, nil
}

// longWorkOf does the work part by part and goes on where a dead worker was.
func longWorkOf(k keyed) func(context.Context, *idempotency.Work) error {
	return func(ctx context.Context, w *idempotency.Work) error {
		var from struct{ Part int }
		if _, err := w.Previous(&from); err != nil {
			return err
		}
		for part := from.Part; part < workParts; part++ {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(partTakes):
			}
			if err := w.Progress(ctx, map[string]int{"part": part + 1}); err != nil {
				return err
			}
			if part == workParts/2 {
				reach(stepWorking, w.Key().Value)
			}
		}
		err := w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
			err := k.effect(ctx, w.Key().Value)
			reach(stepFinishing, w.Key().Value)
			return idempotency.Reply{Status: http.StatusOK}, err
		})
		if err == nil {
			reach(stepFinished, w.Key().Value)
		}
		return err
	}
}

// doScriptWork is the command that the script runs as its work: its output is
// the progress, and its end the effect.
func doScriptWork(runID string) {
	for part := range workParts {
		time.Sleep(partTakes)
		fmt.Printf("%d of %d\n", part+1, workParts)
		if part == workParts/2 {
			reach(stepWorking, runID)
		}
	}
	reach(stepFinishing, runID)
}

// stepping reaches the steps of a request around the handler.
func stepping(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runID := r.Header.Get(idempotency.HeaderKey)
		reach(stepAsked, runID)
		next.ServeHTTP(&steps{w, runID}, r)
	})
}

// steps is an answer before it is sent.
type steps struct {
	http.ResponseWriter
	runID string
}

func (s *steps) WriteHeader(code int) {
	switch {
	case code == http.StatusAccepted:
		reach(stepAccepted, s.runID)
	case code < 300:
		reach(stepAnswered, s.runID)
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *steps) Unwrap() http.ResponseWriter { return s.ResponseWriter }

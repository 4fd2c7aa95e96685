package contenders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Load is what a contender with an API is given to do.
type Load struct {
	Name string
	// Serves: the API listens. Asked: AskedPerSecond requests come meanwhile.
	Serves, Asked bool
	// Spread: the runs are due over SpreadOver, not all at once, so that a run that
	// starts late was held up.
	Spread bool
}

// SpreadOver is how long the runs of a spread load are due.
const SpreadOver = 20 * time.Second

// late is how much later than its scheduled time a late run starts.
const late = time.Second

// Served is what a contender with an API reports.
type Served struct {
	Took  time.Duration // from the first scheduled time to the last outcome
	Late  int           // runs that started late
	Start rig.Late
	Asked Answers
}

// API is cronce on an engine under a load.
func API(engine rig.Contender, l Load) rig.Contender {
	engine.Name += ", " + l.Name
	open := runSQLite
	if engine.Store == rig.PostgreSQL {
		open = runPostgres
	}
	engine.Run = func(ctx context.Context, t *rig.Task) error {
		return open(ctx, t, func(ctx context.Context, t *rig.Task, store ledger.Store) error {
			at := DueTime(t.Runs)
			over := time.Duration(0)
			if l.Spread {
				over = SpreadOver
			}
			reg, err := registry(t.Runs, at, over)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			o := &ends{runs: int64(t.Runs), all: make(chan time.Time, 1)}
			declared := &declaration{Ledger: store, at: at, fail: cancel}
			stop := func() (Answers, error) { return Answers{}, nil }
			if l.Serves {
				url, tokens, err := serve(ctx, reg, store)
				if err != nil {
					return err
				}
				if l.Asked {
					declared.then = func() (err error) {
						stop, err = startAsking(ctx, url, tokens)
						return err
					}
				}
			}
			t.Begin(at)
			go func() {
				if err := report(ctx, t, at, o, func() (Answers, error) { return stop() }); err != nil {
					cancel(err)
				}
			}()
			err = execute(ctx, t, reg, declared, o)
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				err = errors.Join(err, cause)
			}
			return err
		})
	}
	return engine
}

// report waits for the last outcome and says what was measured.
func report(ctx context.Context, t *rig.Task, at time.Time, o *ends, stop func() (Answers, error)) (err error) {
	var s Served
	select {
	case <-ctx.Done():
		return nil
	case last := <-o.all:
		s.Took = last.Sub(at)
	}
	if s.Asked, err = stop(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.late {
		if l > late {
			s.Late++
		}
	}
	s.Start = rig.Lateness(o.late)
	t.Done(s)
	return nil
}

// ends notes how late runs started and when the last outcome was stored.
type ends struct {
	executor.NopObserver
	runs    int64
	settled atomic.Int64
	all     chan time.Time

	mu   sync.Mutex
	late []time.Duration
}

func (e *ends) Sent(_ ledger.Work, late time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.late = append(e.late, late)
}

func (e *ends) Recorded(o ledger.Outcome, _ string, result ledger.RecordResult) {
	if o.State == ledger.Succeeded && result == ledger.Recorded && e.settled.Add(1) == e.runs {
		e.all <- time.Now()
	}
}

// serve serves the API to one token of each asker until the context ends.
func serve(ctx context.Context, reg *jobs.Registry, store ledger.Store) (url string, tokens []string, err error) {
	control, tokens, err := identities()
	if err != nil {
		return "", nil, err
	}
	h := api.New(api.Config{
		Operations: operations.New(operations.Config{Ledger: store, Registry: func() (*jobs.Registry, error) { return reg, nil }}),
		Gate:       api.NewGate(control), Logger: slog.New(slog.DiscardHandler),
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() { _ = server.Serve(l) }()
	return "http://" + l.Addr().String(), tokens, nil
}

// identities is an access file with a token for each asker.
func identities() (control access.Control, tokens []string, err error) {
	dir, err := os.MkdirTemp("", "cronce-access-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	text := "version: 1\ntokens:\n"
	for i := range askers {
		token, hash := access.NewToken()
		tokens = append(tokens, token)
		text += fmt.Sprintf("  - { name: asker-%d, role: operator, hash: %q }\n", i, hash)
	}
	path := filepath.Join(dir, "access.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, nil, err
	}
	control, err = access.Open(path)
	return control, tokens, err
}

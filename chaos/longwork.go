package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// LongWork is a job whose work takes several times its timeout, on one engine. In its
// first run one victim is killed at each step, in the next run another one, and so on.
type LongWork struct {
	Cronce  string // the built binary
	Worker  string // the program that is the target; see IsTarget
	Dir     string // for logs, the registry, and what the target keeps in files
	Ledger  string // a PostgreSQL database
	Engine  string // EngineSQLite, EnginePostgres, EngineMariaDB, or EngineScript
	Keys    string // the address of its database, a file of SQLite, or the script
	Servers map[string]Server

	harness *httptest.Server
	worker  *process
	serve   *process

	mu       sync.Mutex
	victims  []victim
	runs     map[string]*disturbed // by run ID
	failed   error                 // of a victim that could not be killed or started again
	newest   string                // the run that was asked for last
	answered map[string]bool       // runs that had their final answer
	overlaps []error
}

// disturbed is a run in which a victim is killed.
type disturbed struct {
	victim victim
	left   []string // the steps at which it is still to be killed
}

// What keeps the target's keys.
const (
	EngineSQLite   = "sqlite"
	EnginePostgres = "postgres"
	EngineMariaDB  = "mariadb"
	EngineScript   = "script" // files; the target is a shell script without the kit
)

// The steps of a run, as its target sees them.
const (
	stepAsked     = "asked"     // a request has arrived
	stepAccepted  = "accepted"  // the key is taken, and 202 not yet sent
	stepWorking   = "working"   // the work is half done
	stepFinishing = "finishing" // the effect is written, and not yet committed
	stepFinished  = "finished"  // effect, reply and key are committed
	stepAnswered  = "answered"  // the final answer is not yet sent
)

// steps are what a run of the engine goes through.
func (l *LongWork) steps() []string {
	all := []string{stepAsked, stepAccepted, stepWorking, stepFinishing, stepFinished, stepAnswered}
	if l.Engine == EngineScript { // its last write ends its process
		all = slices.DeleteFunc(all, func(s string) bool { return s == stepFinished })
	}
	return all
}

// victim is what can be killed at a step.
type victim struct {
	name  string
	kill  func() error
	start func() error
}

const longWorkJob = "long"

// longWorkRegistry has one job, due each second: while its run is accepted, all
// other scheduled times are skipped.
const longWorkRegistry = `version: 1
name: chaos
jobs:
  - id: ` + longWorkJob + `
    schedule: "* * * * * *"
    targetUrlEnv: SERVICE_URL
    path: /long
    timeout: 500ms
    async: { within: 10m, poll: 1s }
    retry: { backoff: [%s] }
`

// Run conducts the runs and returns an error if a fault was not made, a run did not
// succeed, or any run has not its one effect.
func (l *LongWork) Run(ctx context.Context) error {
	defer l.close()
	if err := l.prepare(ctx); err != nil {
		return err
	}
	if err := l.succeed(ctx); err != nil {
		return errors.Join(err, l.notMade())
	}
	// The run after them is stopped in the middle of its work, and has no effect.
	if err := errors.Join(l.serve.terminate(time.Minute), l.worker.terminate(time.Minute)); err != nil {
		return err
	}
	return errors.Join(l.notMade(), l.check(ctx))
}

// prepare starts the processes and lists the faults.
func (l *LongWork) prepare(ctx context.Context) error {
	if err := l.createLedger(ctx); err != nil {
		return err
	}
	if err := l.createKeys(ctx); err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	l.harness = httptest.NewServer(http.HandlerFunc(l.step))
	l.worker = &process{name: "worker", dir: l.Dir, args: []string{l.Worker}, env: []string{
		envWorker + "=" + address, envWorkerEngine + "=" + l.Engine, envWorkerKeys + "=" + l.Keys,
		envWorkerDir + "=" + l.Dir, envWorkerSteps + "=" + l.harness.URL,
	}}
	config := filepath.Join(l.Dir, "cronce.yaml")
	text := fmt.Sprintf(longWorkRegistry, "100ms"+strings.Repeat(", 300ms", retries-1))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	l.serve = &process{
		name: "serve", dir: l.Dir, env: []string{"SERVICE_URL=http://" + address},
		args: []string{l.Cronce, "serve", "--config", config, "--db", l.Ledger, "--listen", "", "--lease", "1s", "--ledger-wait", "10m"},
	}
	l.victims = []victim{{l.worker.name, killed(l.worker), l.worker.start}, {l.serve.name, killed(l.serve), l.serve.start}}
	l.runs, l.answered = map[string]*disturbed{}, map[string]bool{}
	for name, s := range l.Servers {
		l.victims = append(l.victims, victim{name, s.Crash, s.Start})
	}
	return errors.Join(l.worker.start(), l.serve.start())
}

func (l *LongWork) createLedger(ctx context.Context) error {
	db, err := sql.Open("pgx", l.Ledger)
	if err != nil {
		return err
	}
	defer db.Close()
	return migrateLedger(ctx, db)
}

func killed(p *process) func() error { return func() error { p.kill(); return nil } }

// step answers the target that has come to a step of a run, when the run's victim is
// dead, and then starts the victim again.
func (l *LongWork) step(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, run := r.URL.Query().Get("at"), r.URL.Query().Get("run")
	l.observe(at, run)
	d := l.runs[run]
	if d == nil && len(l.runs) < len(l.victims) {
		d = &disturbed{l.victims[len(l.runs)], l.steps()}
		l.runs[run] = d
	}
	if d == nil || !slices.Contains(d.left, at) || l.failed != nil {
		return
	}
	d.left = slices.DeleteFunc(d.left, func(s string) bool { return s == at })
	l.failed = d.victim.kill()
	_ = http.NewResponseController(w).Flush() // the target may be dead
	l.failed = errors.Join(l.failed, d.victim.start())
}

// observe keeps the runs that were asked for while the one before had no final answer. A
// run ends by that answer alone, so this needs no clock.
func (l *LongWork) observe(at, run string) {
	if at == stepAnswered {
		l.answered[run] = true
	}
	if at != stepAsked || run == l.newest || l.answered[run] { // a late request of a finished run begins nothing
		return
	}
	if l.newest != "" && !l.answered[l.newest] {
		l.overlaps = append(l.overlaps, fmt.Errorf("run %s was asked for before %s was finished", run, l.newest))
	}
	l.newest = run
}

// notMade names the faults that were not made.
func (l *LongWork) notMade() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := []error{l.failed}
	for run, d := range l.runs {
		for _, step := range d.left {
			errs = append(errs, fmt.Errorf("%s was not killed when %s was %s", d.victim.name, run, step))
		}
	}
	if len(l.runs) < len(l.victims) {
		errs = append(errs, fmt.Errorf("%d runs were asked for, want %d", len(l.runs), len(l.victims)))
	}
	return errors.Join(errs...)
}

// longWorkTakes is the most that the runs take on a busy machine.
const longWorkTakes = 4 * time.Minute

// succeed waits until a run of each victim has succeeded.
func (l *LongWork) succeed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longWorkTakes)
	defer cancel()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		runs, err := l.started(ctx, ledger.Succeeded)
		if err == nil && len(runs) >= len(l.victims) {
			return nil
		}
		for _, p := range []*process{l.worker, l.serve} {
			if p.crashed.Load() {
				return fmt.Errorf("%s ended by itself:\n%s", p.name, p.tail(30))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d runs have succeeded after %v: %w", len(runs), len(l.victims), longWorkTakes, errors.Join(err, ctx.Err()))
		case <-look.C:
		}
	}
}

// started are the job's runs that were started, of all states or of some.
func (l *LongWork) started(ctx context.Context, states ...ledger.State) ([]ledger.Run, error) {
	s, err := postgres.Open(ctx, l.Ledger)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all, err := s.List(ctx, ledger.Filter{JobID: longWorkJob, States: states, Limit: 10_000})
	return slices.DeleteFunc(all, func(r ledger.Run) bool { return r.StartedAt.IsZero() }), err
}

// check compares the runs with the effects. Each run that has succeeded has one effect,
// every other at most one, and no two runs were under way together.
func (l *LongWork) check(ctx context.Context) error {
	runs, err := l.started(ctx)
	if err != nil {
		return err
	}
	effects, err := l.effects(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	errs := slices.Clone(l.overlaps)
	l.mu.Unlock()
	for _, r := range runs {
		n := effects[r.ID]
		delete(effects, r.ID)
		if n > 1 || n == 0 && r.State == ledger.Succeeded {
			errs = append(errs, fmt.Errorf("run %s is %s and has %d effects", r.ID, r.State, n))
		}
	}
	for id, n := range effects {
		errs = append(errs, fmt.Errorf("%d effects of %s, which the ledger does not have", n, id))
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrBroken, errors.Join(errs...))
	}
	return nil
}

func (l *LongWork) close() {
	for _, p := range []*process{l.worker, l.serve} {
		if p != nil {
			p.kill()
		}
	}
	if l.harness != nil {
		l.harness.Close()
	}
}

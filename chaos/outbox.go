package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Outbox has a job for each step of a notification. Each job dies until its problem was
// told, then succeeds, and cronce serve is killed at the job's step.
type Outbox struct {
	Cronce string // the built binary
	Dir    string // for logs and the registry
	Ledger string // the address of its ledger, whose tables are there
	Open   func(context.Context) (ledger.Store, error)

	serve *process

	mu     sync.Mutex
	left   map[string]bool            // steps at which serve is still to be killed
	told   map[string]map[string]bool // the types of events that a job's receiver has, by job
	events map[string]delivered       // by idempotency key
	errs   []error
}

// delivered is a notification as its receiver has it.
type delivered struct {
	body, kind string
	incident   int64
}

// outboxSteps are those of a job's problem and of its end, in their order.
var outboxSteps = []string{
	"job-asked", "job-refused", "incident-open", "opened-written", "opened-asked", "opened-answered",
	"job-succeeded", "incident-closed", "recovered-asked", "recovered-answered",
}

const (
	eventOpened    = "cronce.incident.opened"
	eventRecovered = "cronce.incident.recovered"
	outboxTakes    = 4 * time.Minute // at most, on a busy machine
)

// Run kills at each step, waits until all is told, and compares the receiver with the
// ledger.
func (o *Outbox) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, outboxTakes)
	defer cancel()
	o.left, o.told, o.events = map[string]bool{}, map[string]map[string]bool{}, map[string]delivered{}
	var jobs strings.Builder
	for _, step := range outboxSteps {
		o.left[step], o.told[step] = true, map[string]bool{}
		fmt.Fprintf(&jobs, "  - { id: %s, schedule: \"* * * * * *\", targetUrlEnv: SERVICE_URL, path: /%s, catchUp: latest }\n", step, step)
	}
	config := filepath.Join(o.Dir, "cronce.yaml")
	text := "version: 1\nname: chaos\njobs:\n" + jobs.String() + "notifications:\n  - { name: hub, type: webhook, urlEnv: HUB_URL, on: [dead] }\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	service, hub := httptest.NewServer(http.HandlerFunc(o.job)), httptest.NewServer(http.HandlerFunc(o.receive))
	defer hub.Close()
	defer service.Close()
	o.serve = &process{
		name: "serve", dir: o.Dir, env: []string{"SERVICE_URL=" + service.URL, "HUB_URL=" + hub.URL},
		args: []string{o.Cronce, "serve", "--config", config, "--db", o.Ledger, "--listen", "", "--lease", "1s", "--ledger-wait", "1m"},
	}
	if err := o.serve.start(); err != nil {
		return err
	}
	defer o.serve.kill()
	err := o.follow(ctx)
	return errors.Join(err, o.serve.terminate(time.Minute), o.check(context.WithoutCancel(ctx)))
}

// at kills serve at a step, once, and starts it again. It holds the lock.
func (o *Outbox) at(step string) {
	if !o.left[step] {
		return
	}
	delete(o.left, step)
	o.serve.kill()
	if err := o.serve.start(); err != nil {
		o.errs = append(o.errs, err)
	}
}

// job refuses until the receiver knows.
func (o *Outbox) job(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := strings.TrimPrefix(r.URL.Path, "/")
	after := "job-succeeded"
	if !o.told[id][eventOpened] {
		if id == "job-asked" {
			o.at(id)
		}
		w.WriteHeader(http.StatusNotFound)
		after = "job-refused"
	}
	_ = http.NewResponseController(w).Flush() // serve may be dead
	if id == after {
		o.at(id)
	}
}

// receive is the channel's receiver.
func (o *Outbox) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // serve is dead
	}
	var event struct {
		Type, Subject string
		Data          struct{ Incident int64 }
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := json.Unmarshal(body, &event); err != nil {
		o.errs = append(o.errs, fmt.Errorf("notification %q: %w", body, err))
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if before, repeated := o.events[key]; repeated && before.body != string(body) {
		o.errs = append(o.errs, fmt.Errorf("%s was sent with another body", key))
	}
	o.events[key] = delivered{string(body), event.Type, event.Data.Incident}
	step := strings.TrimPrefix(event.Type, "cronce.incident.")
	if event.Subject == step+"-asked" {
		o.at(event.Subject)
	}
	_ = http.NewResponseController(w).Flush()
	if event.Subject == step+"-answered" {
		o.at(event.Subject)
	}
	if o.told[event.Subject] != nil {
		o.told[event.Subject][event.Type] = true
	}
}

// follow kills at the steps that only the ledger shows, until all jobs' problems and
// their ends are told and every notification is delivered.
func (o *Outbox) follow(ctx context.Context) error {
	l, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		incidents, err := l.Incidents(ctx, ledger.IncidentFilter{Limit: ledger.MaxIncidentPage})
		if err == nil {
			var runs []ledger.Run
			if runs, err = l.List(ctx, ledger.Filter{JobID: "notify-hub", Limit: 1000}); err == nil && o.look(incidents, runs) {
				return nil
			}
		}
		if o.serve.crashed.Load() {
			return fmt.Errorf("serve ended by itself:\n%s", o.serve.tail(30))
		}
		select {
		case <-ctx.Done():
			o.mu.Lock()
			defer o.mu.Unlock()
			return fmt.Errorf("not all was told within %v; steps left: %v; told: %v: %w", outboxTakes, o.left, o.told, errors.Join(err, ctx.Err()))
		case <-look.C:
		}
	}
}

// open waits until the ledger has its tables.
func (o *Outbox) open(ctx context.Context) (ledger.Store, error) {
	for {
		l, err := o.Open(ctx)
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// look reports whether all is over.
func (o *Outbox) look(incidents []ledger.Incident, runs []ledger.Run) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range incidents {
		switch {
		case i.Cause != ledger.IncidentDead:
		case i.JobID == "incident-open" && i.Open(), i.JobID == "incident-closed" && !i.Open(),
			i.JobID == "opened-written" && len(i.NotifierState) > 0:
			o.at(i.JobID)
		}
	}
	for _, r := range runs {
		if !r.State.Finished() {
			return false
		}
	}
	for _, events := range o.told {
		if !events[eventOpened] || !events[eventRecovered] {
			return false
		}
	}
	return len(o.left) == 0
}

// check compares what was told with the incidents: each opening and each end once,
// and nothing else.
func (o *Outbox) check(ctx context.Context) error {
	l, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	incidents, err := l.Incidents(ctx, ledger.IncidentFilter{Limit: ledger.MaxIncidentPage})
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	errs := o.errs
	for step := range o.left {
		errs = append(errs, fmt.Errorf("serve was not killed at step %s", step))
	}
	type notice struct {
		incident int64
		kind     string
	}
	got := map[notice]int{}
	for _, e := range o.events {
		got[notice{e.incident, e.kind}]++
	}
	for _, i := range incidents {
		if i.Cause != ledger.IncidentDead {
			continue
		}
		opened, recovered := notice{i.ID, eventOpened}, notice{i.ID, eventRecovered}
		if got[opened] != 1+i.Reopened || got[recovered] != 1+i.Reopened || i.Open() {
			errs = append(errs, fmt.Errorf("incident %d of %s (open: %v, reopened %d times) was told by %d notifications, and its end by %d",
				i.ID, i.JobID, i.Open(), i.Reopened, got[opened], got[recovered]))
		}
		delete(got, opened)
		delete(got, recovered)
	}
	for n, times := range got {
		errs = append(errs, fmt.Errorf("%d notifications %s of incident %d, which the ledger does not have", times, n.kind, n.incident))
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrBroken, errors.Join(errs...))
	}
	return nil
}

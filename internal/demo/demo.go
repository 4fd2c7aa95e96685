// Package demo runs the whole product on one machine for a few seconds: a
// scheduler on an embedded ledger, a target service over real HTTP, a network
// between them that breaks, and a scheduler process that is killed without
// warning. Then it counts the effects.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cronce/cronce/api"
	"github.com/cronce/cronce/examples/target/membership"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/web"
)

// Config says how to run the demo.
type Config struct {
	Binary   string        // the cronce binary, run as the scheduler
	Duration time.Duration // with faults, from the first call; the run takes a few seconds more
	Out      io.Writer
	Live     bool // redraw a table instead of printing lines
	UI       bool // serve the dashboard, also after the verdict, until the context ends
}

// registry is what the demo's scheduler runs: each job is due every second. Every
// scheduled time is run, late ones too, so that they can be compared with the
// effects. The waits are short so that the demo is.
const registry = `version: 1
name: demo
targets:
  membership: { urlEnv: MEMBERSHIP_URL, auth: { type: bearer, token: { env: MEMBERSHIP_TOKEN } } }
jobs:
`

// path is what the job at place i calls.
func path(i int) string {
	return []string{"/v1/admin/commission-locks/release-expired", "/v1/admin/books/close-day"}[i%2]
}

const job = `  - id: %s
    schedule: "* * * * * *"
    target: membership
    path: %s
    overlap: allow
    catchUp: all
    timeout: 1s
    retry: { backoff: [100ms, 200ms, 300ms, 400ms%s] }
`

// moreRetries are so many that no run is given up on a machine which is so busy
// that calls time out without a fault.
const moreRetries = 40

// One path is one key scope: the jobs' keys differ by their run IDs.
var jobIDs = []string{"release-eu", "close-eu", "release-us", "close-us", "release-asia", "close-asia"}

func registryText() string {
	text := registry
	for i, id := range jobIDs {
		text += fmt.Sprintf(job, id, path(i), strings.Repeat(", 500ms", moreRetries))
	}
	return text
}

// killEvery is how often the scheduler is killed.
const killEvery = 4 * time.Second

// Run runs the demo. The error says what was lost or doubled, if anything was.
func Run(ctx context.Context, c Config) error {
	dir, err := os.MkdirTemp("", "cronce-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d := &demo{Config: c, dir: dir}
	defer d.close()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.run(ctx); err != nil {
		return err
	}
	if err := d.checkResult(ctx); err != nil || !c.UI {
		return err
	}
	fmt.Fprintf(d.Out, "\nThe dashboard stays at %s until Ctrl-C.\n", d.url)
	<-ctx.Done()
	return nil
}

type demo struct {
	Config
	dir       string
	service   *membership.Service
	faults    *faults
	scheduler *scheduler
	ledger    *sqlite.Ledger
	servers   []*http.Server
	board     *web.Dashboard // nil: not asked for
	url       string         // of the dashboard
	view      view
}

func (d *demo) prepare(ctx context.Context) (err error) {
	token := rand.Text()
	if d.service, err = membership.Open(ctx, filepath.Join(d.dir, "membership.db"), token, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	target, err := d.serve(d.service.Handler())
	if err != nil {
		return err
	}
	d.faults = newFaults(target)
	broken, err := d.serve(d.faults)
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.config(), []byte(registryText()), 0o600); err != nil {
		return err
	}
	d.scheduler = &scheduler{binary: d.Binary, dir: d.dir, env: []string{
		"MEMBERSHIP_URL=" + broken, "MEMBERSHIP_TOKEN=" + token,
		"CRONCE_CONFIG=", "CRONCE_DATABASE_URL=",
	}}
	if d.ledger, err = sqlite.Open(ctx, d.scheduler.ledger(), sqlite.Options{}); err != nil || !d.UI {
		return err
	}
	return d.openDashboard()
}

// openDashboard serves the dashboard from this process, which nobody kills.
func (d *demo) openDashboard() error {
	reg, err := jobs.Load(d.config())
	if err != nil {
		return err
	}
	d.board = web.New(web.Config{
		Ledger: d.ledger, Engine: "sqlite", Version: "demo", Serving: func() web.Serving { return web.Serving{Registry: reg} },
		Operations: operations.New(operations.Config{Ledger: d.ledger, Registry: func() (*jobs.Registry, error) { return reg, nil }}),
	})
	address, err := d.serve(api.OnlyHosts(access.NewHosts("127.0.0.1:0"), d.board))
	d.url = address + "/"
	return err
}

// serve serves a handler on a free loopback port and returns its base URL.
func (d *demo) serve(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	d.servers = append(d.servers, server)
	go func() { _ = server.Serve(l) }() // ends with close
	return "http://" + l.Addr().String(), nil
}

func (d *demo) config() string { return filepath.Join(d.dir, "cronce.yaml") }

func (d *demo) close() {
	if d.scheduler != nil {
		d.scheduler.stop()
	}
	for _, s := range d.servers {
		s.Close()
	}
	if d.ledger != nil {
		d.ledger.Close()
	}
	if d.service != nil {
		d.service.Close()
	}
}

// run runs the jobs while calls are broken and the scheduler is killed,
// then heals the network, pauses the jobs and lets the scheduler finish.
func (d *demo) run(ctx context.Context) error {
	fmt.Fprintf(d.Out, "A scheduler, a target service, and a network between them that breaks. The scheduler is killed every %s.\n", killEvery)
	if d.UI {
		fmt.Fprintf(d.Out, "Watch it in a browser: %s\n", d.url)
	}
	if err := d.scheduler.start(d.config()); err != nil {
		return fmt.Errorf("start the scheduler: %w", err)
	}
	if err := d.awaitFirstCall(ctx); err != nil {
		return err
	}
	end := time.After(d.Duration)
	kill := time.NewTicker(killEvery)
	defer kill.Stop()
	show := time.NewTicker(d.refresh())
	defer show.Stop()
	kills := int(d.Duration / killEvery) // however late the machine wakes us
	for running := true; running || d.scheduler.kills < kills; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			running = false
		case <-kill.C:
			if d.scheduler.kills == kills {
				continue
			}
			d.awaitCall()
			if err := d.scheduler.restart(ctx, d.config()); err != nil {
				return err
			}
		case <-show.C:
			d.show(ctx, "breaking things")
		}
	}
	return d.finish(ctx, show.C)
}

// awaitFirstCall waits until the scheduler works: on a busy machine its start may
// take longer than the demo.
func (d *demo) awaitFirstCall(ctx context.Context) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	late := time.After(finishTime)
	for d.faults.calls.Load() == 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("the scheduler made no call within %s of its start; try again when the machine is less busy", finishTime)
		case <-look.C:
		}
	}
	return nil
}

func (d *demo) refresh() time.Duration {
	if d.Live {
		return 250 * time.Millisecond
	}
	return 2 * time.Second
}

// awaitCall waits for a call to be under way, so that the scheduler is killed
// in the middle of a run.
func (d *demo) awaitCall() {
	for range 400 {
		if d.faults.inFlight.Load() > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// finishTime bounds how long the scheduler has for its first call, and at the end
// for what is left: far more than it takes on a machine that has nothing else to do.
const finishTime = time.Minute

func (d *demo) finish(ctx context.Context, show <-chan time.Time) error {
	d.faults.broken.Store(false)
	for _, job := range jobIDs {
		if err := d.ledger.PauseJob(ctx, job, ledger.Actor{By: "demo", Why: "the demo is over"}); err != nil {
			return err
		}
	}
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(finishTime)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return errors.New("runs were still unfinished when the demo's time was up")
		case <-show:
			d.show(ctx, "the network is healed; finishing what is left")
		case <-look.C:
			if done, err := d.finished(ctx); err != nil || done {
				d.scheduler.stop()
				return err
			}
		}
	}
}

package chaos

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the tables go through database/sql

	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/sqlite"
)

// Setup is what a fleet is made of.
type Setup struct {
	Cronce   string // the built binary
	Next     string // that of the next release, to which every other deploy goes; empty: there is none
	Service  string // the program that is the target service; see IsTarget
	Dir      string // for logs, registries and an embedded ledger
	Database string // PostgreSQL: the service's, and the ledger's unless Embedded
	Pooled   string // Database through PgBouncer, for the processes; empty: Database
	// Function starts a Lambda function with variables; nil: there are none.
	Function func(vars ...string) Function
	Keyless  bool // the service does without the kit: things must be found doubled
	Embedded bool // one scheduler on SQLite instead of three on PostgreSQL
	// FunctionsOnly: functions on a ledger, without a scheduler or a tick. The
	// service tells them to come back after they have ended.
	FunctionsOnly bool
}

const (
	replicas = 3
	lease    = 3 * time.Second
	grace    = 2 * time.Second
	token    = "chaos-token"
)

// fleet is all processes and the network between them.
type fleet struct {
	Setup
	network   *network
	serves    []*process
	service   *process
	platforms []*platform
	deployed  *deployments
	redriven  int    // parents
	storm     *storm // nil: there is no scheduler
}

// assemble prepares the databases and the processes, and starts none.
func assemble(ctx context.Context, s Setup) (*fleet, error) {
	f := &fleet{Setup: s, network: newNetwork(), deployed: newDeployments()}
	if err := prepare(ctx, s.Database); err != nil {
		return nil, err
	}
	if err := f.witness(ctx); err != nil {
		return nil, err
	}
	if err := f.addService(); err != nil {
		return nil, err
	}
	if s.schedulers() == 0 {
		return f, nil
	}
	token, hash := access.NewToken()
	text := fmt.Sprintf("version: 1\ntokens: [{ name: storm, role: scheduler, templates: [%s], hash: %q }]\n", stormTemplate, hash)
	if err := os.WriteFile(f.access(), []byte(text), 0o600); err != nil {
		return nil, err
	}
	f.storm = newStorm(nil, token)
	for i := range s.schedulers() {
		if err := f.addServe(i); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// schedulers returns the number of schedulers.
func (s Setup) schedulers() int {
	switch {
	case s.FunctionsOnly:
		return 0
	case s.Embedded:
		return 1
	}
	return replicas
}

func prepare(ctx context.Context, database string) error {
	db, err := sql.Open("pgx", database)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := pgsql.New(db, pgsql.Options{Schema: serviceSchema}).CreateTable(ctx); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, effectsTable)
	return err
}

// toDatabase is the database's URL for a process, over new links: one for each
// host that it names.
func (f *fleet) toDatabase(name string) (string, error) {
	u, err := url.Parse(cmp.Or(f.Pooled, f.Database))
	if err != nil {
		return "", err
	}
	hosts := strings.Split(u.Host, ",")
	for i, host := range hosts {
		if hosts[i], err = f.network.between(fmt.Sprintf("%s-%d", name, i+1), host); err != nil {
			return "", err
		}
	}
	u.Host = strings.Join(hosts, ",")
	return u.String(), nil
}

func (f *fleet) addService() error {
	database, err := f.toDatabase("service-database")
	if err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	if f.Pooled != "" { // the kit is told that nothing can be prepared; the ledger finds out
		database += "&default_query_exec_mode=exec"
	}
	f.service = &process{name: "service", dir: f.Dir, args: []string{f.Service}, env: []string{
		envService + "=" + address, envDatabase + "=" + database + "&pool_max_conns=16&connect_timeout=2",
		envCalls + "=" + f.calls(), envToken + "=" + token, envOpened + "=" + f.opened(),
	}}
	if f.Keyless {
		f.service.env = append(f.service.env, envKeyless+"=1")
	}
	if f.FunctionsOnly {
		f.service.env = append(f.service.env, envBusy+"=1")
	}
	return nil
}

func (f *fleet) calls() string  { return filepath.Join(f.Dir, "calls.jsonl") }
func (f *fleet) access() string { return filepath.Join(f.Dir, "access.yaml") }
func (f *fleet) opened() string { return filepath.Join(f.Dir, "tenants-open") }

func (f *fleet) addServe(i int) error {
	name := fmt.Sprintf("serve-%d", i+1)
	db := "sqlite:" + f.ledgerFile()
	if !f.Embedded {
		var err error
		if db, err = f.toDatabase(name + "-ledger"); err != nil {
			return err
		}
	}
	service, err := f.network.between(name+"-service", serviceAddress(f.service))
	if err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	api, err := f.network.between(name+"-api", address)
	if err != nil {
		return err
	}
	f.storm.servers = append(f.storm.servers, "http://"+api)
	p := &process{name: name, dir: f.Dir, env: []string{"SERVICE_URL=http://" + service, envToken + "=" + token}}
	p.args = []string{f.Cronce, "serve", "--config", f.registry(p), "--db", db, "--listen", address, "--access", f.access(),
		"--lease", lease.String(), "--grace", grace.String(), "--ledger-wait", "10m"}
	f.serves = append(f.serves, p)
	return writeRegistry(f.registry(p), 0)
}

func (f *fleet) registry(p *process) string { return filepath.Join(f.Dir, p.name+".yaml") }
func (f *fleet) ledgerFile() string         { return filepath.Join(f.Dir, "ledger.db") }

func serviceAddress(p *process) string { return p.env[0][len(envService)+1:] }

func (f *fleet) processes() []*process { return append([]*process{f.service}, f.serves...) }

func (f *fleet) start() error {
	if err := f.deployed.note(0, time.Now()); err != nil {
		return err
	}
	for _, p := range f.processes() {
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

// terminate ends the schedulers as an operator does.
func (f *fleet) terminate() error {
	var errs []error
	for _, p := range f.serves {
		errs = append(errs, p.terminate(time.Minute))
	}
	return errors.Join(errs...)
}

// crashed returns an error if a process ended that was not to end.
func (f *fleet) crashed() error {
	for _, p := range f.processes() {
		if p.crashed.Load() {
			return fmt.Errorf("%s ended by itself:\n%s", p.name, p.tail(30))
		}
	}
	return nil
}

func (f *fleet) close() {
	for _, p := range f.processes() {
		p.kill()
	}
	f.network.close()
}

// store is the ledger as the harness uses it: for its questions and as an operator, without the
// faults of the network.
type store interface {
	List(context.Context, ledger.Filter) ([]ledger.Run, error)
	Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error)
	Jobs(ctx context.Context, ids ...string) ([]ledger.JobStatus, error)
	Events(ctx context.Context, jobID string, limit int) ([]ledger.Event, error)
	Members(context.Context, ledger.MemberFilter) (ledger.MemberPage, error)
	Schedules(context.Context, ledger.ScheduleFilter) ([]ledger.Schedule, error)
	Templates(context.Context) ([]ledger.TemplateCount, error)
	Redrive(context.Context, ledger.Action) (ledger.ActionResult, error)
	Close() error
}

func (f *fleet) ledger(ctx context.Context) (store, error) {
	if f.Embedded {
		return sqlite.Open(ctx, f.ledgerFile(), sqlite.Options{SkipMigrations: true})
	}
	return postgres.Open(ctx, f.Database)
}

// freeAddress returns a loopback address that the system gives to no other process, so
// that a killed process can be started on it again.
func freeAddress() (string, error) {
	port, err := testdb.FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

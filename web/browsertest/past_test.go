package browsertest_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/migrations"
)

// platform is the registry whose past the pictures show.
const platform = `version: 1
name: acme-platform
targets:
  membership: { urlEnv: SVC_URL }
  billing: { urlEnv: SVC_URL, auth: { type: bearer, token: { env: BILLING_TOKEN } }, maxInFlight: 8 }
  crm: { urlEnv: SVC_URL }
jobs:
  - { id: release-commission-locks, schedule: "cron(0 * * * ? *)", target: membership, path: /v1/admin/commission-locks/release-expired, scopes: ["membership:admin"] }
  - { id: charge-subscriptions, schedule: "*/15 * * * *", target: billing, path: /v1/admin/subscriptions/charge-due, overlap: queue }
  - { id: close-books, schedule: "0 0 * * *", timezone: Europe/London, target: billing, path: /v1/admin/books/close-day, catchUp: all }
  - { id: send-invoices, schedule: "30 6 * * *", timezone: Europe/Berlin, target: billing, path: /v1/admin/invoices/send }
  - { id: sync-crm, schedule: "20 * * * *", target: crm, path: /v1/admin/sync, owner: CRM team, retry: { horizon: 20h } }
  - { id: expire-trials, schedule: "10 */4 * * *", target: membership, path: /v1/admin/trials/expire }
  - { id: refresh-exchange-rates, schedule: "5 * * * *", target: billing, path: /v1/admin/rates/refresh, catchUp: none }
  - { id: reconcile-payments, schedule: "30 2 * * *", timezone: Europe/Berlin, target: billing, path: /v1/admin/payments/reconcile, timeout: 2m }
  - { id: report-usage, schedule: "0 7 * * MON", timezone: America/New_York, target: membership, path: /v1/admin/usage/report }
  - { id: rotate-signing-keys, schedule: "0 4 1 * *", target: membership, path: /v1/admin/signing-keys/rotate }
  - { id: archive-audit-log, schedule: "0 5 * * *", target: membership, path: /v1/admin/audit-log/archive, enabled: false }
keyTTLs:
  - { scope: "route:POST_/v1/admin/books/*", ttl: 168h }
  - { scope: "route:POST_/v1/admin/payments/*", ttl: 72h }
`

// past makes a ledger with the days before now, on the ledger's own methods: an
// outage, a night in which a target failed, a pause, and what operators did.
type past struct {
	*testing.T
	ledger.Store
	reg      *jobs.Registry
	clock    time.Time
	tell     func() // tells the ledger the clock
	from, to time.Time
	token    int
	mark     map[string]ledger.Position
}

// writePast returns the addresses of a registry file and of a ledger with as many
// days.
func writePast(t *testing.T, text string, days int) (config, db string) {
	t.Helper()
	return writePastOn(t, "sqlite", text, days)
}

func writePastOn(t *testing.T, engine, text string, days int) (config, db string) {
	t.Helper()
	config, db = filepath.Join(t.TempDir(), "cronce.yaml"), newLedger(t, engine)
	must(t, os.WriteFile(config, []byte(formerly.Replace(text)), 0o600))
	former, err := jobs.Load(config)
	must(t, err)
	must(t, os.WriteFile(config, []byte(text), 0o600))
	reg, err := jobs.Load(config)
	must(t, err)
	now := time.Now().UTC().Truncate(time.Second)
	p := &past{T: t, reg: reg, from: now.AddDate(0, 0, -days), to: now, mark: map[string]ledger.Position{}}
	p.clock = p.from
	var closed func()
	if engine == "postgres" {
		closed = p.openPostgres(db)
	} else {
		closed = p.openSQLite(strings.TrimPrefix(db, "sqlite:"))
	}
	p.declareAs("former", former)
	p.clock = p.clock.Add(time.Minute)
	p.live()
	closed()
	return config, db
}

func (p *past) openSQLite(path string) (closed func()) {
	l, err := sqlite.Open(p.Context(), path, sqlite.Options{Now: func() time.Time { return p.clock }})
	must(p.T, err)
	p.Store, p.tell = l, func() {}
	return func() { must(p.T, l.Close()) }
}

// openPostgres opens a ledger whose clock is a now() that is found before the server's.
func (p *past) openPostgres(url string) (closed func()) {
	script, err := migrations.Print(migrations.Target{Engine: migrations.Postgres})
	must(p.T, err)
	conn, err := pgx.Connect(p.Context(), url)
	must(p.T, err)
	_, err = conn.Exec(p.Context(), strings.ReplaceAll(script, "INDEX CONCURRENTLY", "INDEX")+`
		CREATE SCHEMA past;
		CREATE TABLE past.clock AS SELECT pg_catalog.now() AS at;
		CREATE FUNCTION past.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM past.clock'`, pgx.QueryExecModeSimpleProtocol)
	must(p.T, err)
	l, err := postgres.Open(p.Context(), url, postgres.Schema("past, "+migrations.DefaultSchema+", pg_catalog"))
	must(p.T, err)
	p.Store, p.tell = l, func() {
		_, err := conn.Exec(p.Context(), `UPDATE past.clock SET at = $1`, p.clock)
		must(p.T, err)
	}
	return func() {
		l.Close()
		must(p.T, conn.Close(context.Background()))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type due struct {
	job jobs.Job
	at  time.Time
}

// live leads the registry through its past, in the order of time.
func (p *past) live() {
	p.begin()
	outage := p.to.Add(-12 * 24 * time.Hour).Truncate(24 * time.Hour).Add(time.Hour)
	outageEnd := outage.Add(9 * time.Hour)
	pause := p.to.Add(-29 * time.Hour)
	var list []due
	for _, j := range p.reg.Jobs() {
		if j.Disabled {
			continue
		}
		for at := range j.ParsedSchedule().Due(p.clock, p.to) {
			list = append(list, due{j, at})
		}
	}
	slices.SortStableFunc(list, func(a, b due) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.job.ID, b.job.ID)) })
	late := map[string][]due{}
	paused, recovered := false, false
	for _, d := range list {
		if !paused && d.at.After(pause) {
			paused = true
			p.clock = pause
			p.tell()
			must(p.T, p.PauseJob(p.Context(), "expire-trials", ledger.Actor{By: "maria", Why: "the trial table is being migrated until Monday", Via: ledger.ViaCLI}))
		}
		if d.at.After(outage) && d.at.Before(outageEnd) {
			late[d.job.ID] = append(late[d.job.ID], d)
			continue
		}
		if !recovered && !d.at.Before(outageEnd) {
			recovered = true
			p.clock = outageEnd.Add(40 * time.Second)
			p.catchUp(late)
		}
		p.run(d, ledger.BySchedule, 0)
	}
	p.clock = p.to
	p.actions()
}

func (p *past) begin() {
	p.declare()
	p.tell()
	list, err := ledgertest.Assignments(p.Context(), p, p.reg.Version())
	must(p.T, err)
	for _, s := range list {
		p.mark[s.JobID] = s.Position
	}
}

// formerly is what the registry was before.
var formerly = strings.NewReplacer(`schedule: "20 * * * *", target: crm`, `schedule: "20 */2 * * *", timeout: 10s, target: crm`)

func (p *past) declare() { p.declareAs("seed", p.reg) }

func (p *past) declareAs(process string, reg *jobs.Registry) {
	p.tell()
	must(p.T, p.Declare(p.Context(), ledger.Declaration{
		Process: process, Registry: reg.Name(), Version: reg.Version(), Host: "scheduler-1", Program: "v1.4.0",
		Definitions: func(yield func(ledger.Definition) bool) {
			for _, j := range reg.Jobs() {
				if j.Disabled {
					continue
				}
				body, hash, err := j.Definition()
				must(p.T, err)
				if !yield(ledger.Definition{JobID: j.ID, Hash: hash, Body: body}) {
					return
				}
			}
		},
	}))
}

func (p *past) spec(d due, trigger ledger.Trigger) ledger.RunSpec {
	j := d.job
	id := j.ID + "@" + d.at.Format(time.RFC3339)
	return ledger.RunSpec{
		RunID: id, ScheduledAt: d.at, Count: 1, State: ledger.Planned, Trigger: trigger, Overlap: ledger.Overlap(j.Overlap), Lease: true,
		Call: ledger.CallSpec{
			Target: j.Target, Method: j.Method, Path: j.Path, Body: j.RequestBody(id, d.at), Scopes: j.Scopes, Timeout: j.Timeout,
			Backoff: j.Retry.Backoff, Jitter: j.Retry.Jitter, MaxRetryAfter: j.Retry.MaxRetryAfter, Horizon: j.Retry.Horizon,
		},
	}
}

// admit plans a job's scheduled times through the last of them.
func (p *past) admit(jobID string, through time.Time, specs ...ledger.RunSpec) []ledger.Work {
	at := p.mark[jobID]
	p.token++
	p.tell()
	got, err := p.Admit(p.Context(), ledger.Admission{
		Plans:   []ledger.Plan{{JobID: jobID, Revision: at.Revision, After: at.Watermark, Through: through, Runs: specs}},
		Process: "seed", Token: fmt.Sprint("t", p.token), LeaseFor: time.Hour,
	})
	must(p.T, err)
	if len(got.Stale) > 0 {
		p.Fatalf("plan of %s through %s: %+v", jobID, through, got.Stale)
	}
	at.Watermark = through
	p.mark[jobID] = at
	return got.Leased
}

// catchUp plans what was due in the outage, by each job's rule.
func (p *past) catchUp(late map[string][]due) {
	for id, list := range late {
		last := list[len(list)-1]
		switch {
		case last.job.CatchUp == jobs.CatchUpNone:
			p.admit(id, last.at, rangeOf(list, ledger.Missed, ledger.ReasonCatchUpNone))
		case len(list) == 1 || last.job.CatchUp == jobs.CatchUpAll:
			for _, d := range list {
				p.run(d, ledger.ByCatchUp, p.clock.Sub(d.at))
			}
		default:
			before := list[:len(list)-1]
			p.admit(id, before[len(before)-1].at, rangeOf(before, ledger.Superseded, ledger.ReasonNewerRun))
			p.run(last, ledger.ByCatchUp, p.clock.Sub(last.at))
		}
	}
}

func rangeOf(list []due, state ledger.State, reason ledger.Reason) ledger.RunSpec {
	first, last := list[0].at, list[len(list)-1].at
	spec := ledger.RunSpec{
		RunID: list[0].job.ID + "@" + first.Format(time.RFC3339), ScheduledAt: first, Count: len(list), State: state, Reason: reason, Trigger: ledger.BySchedule,
	}
	if len(list) > 1 {
		spec.RunID, spec.Until = spec.RunID+"/"+last.Format(time.RFC3339), last
	}
	return spec
}

// actions makes the actions of operators since then.
func (p *past) actions() {
	old := ledger.Action{
		Filter: ledger.Filter{JobID: "sync-crm", States: []ledger.State{ledger.Dead}, Until: p.to.Add(-30 * 24 * time.Hour)},
		Actor:  ledger.Actor{By: "jonas", Why: "the CRM was down for maintenance; the next sync had all changes", Via: ledger.ViaCLI},
	}
	p.tell()
	_, err := p.Ack(p.Context(), old)
	must(p.T, err)
	p.clock = p.clock.Add(time.Second)
}

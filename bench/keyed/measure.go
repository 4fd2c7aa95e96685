package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/sqlite"
)

// registry has a template, and a job of its own that is due in each second.
const registry = `version: 1
name: keyed
targets: { svc: { urlEnv: SVC_URL } }
cleanup: { enabled: false, reason: measured }
jobs:
  - { id: report, target: svc, path: "/reports/{{key}}", keyed: { max: 10000000 } }
  - { id: tick, target: svc, path: /tick, schedule: "* * * * * *" }
`

// measure is a ledger with a template.
type measure struct {
	ledger.Store
	bench    *rig.Bench
	engine   rig.Store
	database string
	waiting  int // schedules
	registry *jobs.Registry
	rules    ledger.ScheduleRules
}

func openMeasure(ctx context.Context, b *rig.Bench, store rig.Store) (m *measure, err error) {
	m = &measure{bench: b, engine: store}
	if m.registry, err = jobs.Parse("jobs.yaml", []byte(registry)); err != nil {
		return nil, err
	}
	m.rules = executor.ScheduleRules(m.registry, 0)
	if m.database, err = fresh(ctx, b, store); err == nil {
		m.Store, err = m.open(ctx)
	}
	return m, err
}

// fresh returns an empty ledger's URL.
func fresh(ctx context.Context, b *rig.Bench, store rig.Store) (database string, err error) {
	if database, err = b.Databases.Fresh(ctx, store); err == nil && store == rig.PostgreSQL {
		err = contenders.Prepare(ctx, database)
	}
	return database, err
}

// open opens the ledger once more.
func (m *measure) open(ctx context.Context) (ledger.Store, error) {
	if m.engine == rig.SQLite {
		return sqlite.Open(ctx, m.database, sqlite.Options{})
	}
	return postgres.Open(ctx, m.database, postgres.PoolSize(10))
}

var data = []byte(`{"customer":"acme","note":"two hundred bytes of data, as a caller might send them with a schedule: a name, an address, a format, a language, a currency and so on"}`)

// put makes schedules from one number up to another.
func (m *measure) put(ctx context.Context, prefix string, from, to int, expr func(int) string) error {
	c := ledger.ChangeSchedulesRequest{Template: "report", Rules: m.rules, Actor: ledger.Actor{By: "bench", Why: "measured"}}
	for i := from; i < to; i++ {
		c.Items = append(c.Items, ledger.ScheduleChange{
			JobID:           jobs.ScheduleID("report", fmt.Sprintf("%s%07d", prefix, i)),
			ScheduleContent: ledger.ScheduleContent{Expr: expr(i), Timezone: "UTC", DST: "once", Data: data},
		})
	}
	results, err := m.ChangeSchedules(ctx, c)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// putAll is put, by a thousand.
func (m *measure) putAll(ctx context.Context, prefix string, n int, expr func(int) string) error {
	for from := 0; from < n; from += 1000 {
		if err := m.put(ctx, prefix, from, min(n, from+1000), expr); err != nil {
			return err
		}
	}
	return nil
}

// inTheLastHour is daily, at a minute of the hour before: nothing is due for 22 hours.
func inTheLastHour(i int) string {
	at := time.Now().UTC().Add(-time.Duration(2+i%56) * time.Minute)
	return fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour())
}

func once(at time.Time) string { return "at(" + at.Format("2006-01-02T15:04:05") + ")" }

// fill makes the schedules that wait, and lets the database settle, as it has when they have
// waited for a while.
func (m *measure) fill(ctx context.Context, n int) (string, error) {
	m.waiting = n
	begun, cpu := time.Now(), ownCPU()
	if err := m.putAll(ctx, "k", n, inTheLastHour); err != nil {
		return "", err
	}
	made := fmt.Sprintf("%.0f/s, CPU of the process %.0f µs each", float64(n)/time.Since(begun).Seconds(),
		float64((ownCPU()-cpu).Microseconds())/float64(max(n, 1)))
	if m.engine == rig.SQLite {
		return made, nil
	}
	return made, errors.Join(m.exec(ctx, `VACUUM ANALYZE`), m.exec(ctx, `CHECKPOINT`))
}

// planned notes how late the scheduled times of a ledger were committed.
type planned struct {
	ledger.Store
	all *lateTimes
}

// lateTimes are how late runs were committed, by the first letter of their keys.
type lateTimes struct {
	mu   sync.Mutex
	late map[byte][]time.Duration
}

// PlanSchedules notes the runs that it plans.
func (p planned) PlanSchedules(ctx context.Context, s ledger.SchedulePlanning) (ledger.PlannedSchedules, error) {
	got, err := p.Store.PlanSchedules(ctx, s)
	p.all.note(got.Plans)
	return got, err
}

// Admit notes the runs that it admits of a registry's jobs.
func (p planned) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	got, err := p.Store.Admit(ctx, a)
	p.all.note(a.Plans)
	return got, err
}

func (l *lateTimes) note(plans []ledger.Plan) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, plan := range plans {
		key := strings.TrimPrefix(plan.JobID, "report:")[0]
		for _, in := range plan.Runs {
			l.late[key] = append(l.late[key], now.Sub(in.ScheduledAt))
		}
	}
}

// after waits until n runs of a letter are planned, and returns how late they were.
func (l *lateTimes) after(key byte, n int) (rig.Late, error) {
	for range 1800 {
		time.Sleep(100 * time.Millisecond)
		l.mu.Lock()
		late := l.late[key]
		l.mu.Unlock()
		if len(late) >= n {
			return rig.Lateness(slices.Clone(late)), nil
		}
	}
	return rig.Late{}, fmt.Errorf("not all of %d runs were planned in three minutes", n)
}

// beside runs f while processes plan and make calls, which a target answers at once.
func (m *measure) beside(ctx context.Context, processes int, f func(*lateTimes) error) (err error) {
	ctx, stop := context.WithCancel(ctx)
	all, done := &lateTimes{late: map[byte][]time.Duration{}}, make(chan error, processes)
	started := 0
	defer func() {
		stop()
		for range started {
			err = errors.Join(err, <-done)
		}
	}()
	for range processes {
		store := m.Store
		if processes > 1 {
			if store, err = m.open(ctx); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
		}
		e, err := executor.New(executor.Config{Registry: m.registry, Ledger: planned{store, all}, Caller: applied{}})
		if err != nil {
			return err
		}
		started++
		go func() { done <- e.Run(ctx) }()
	}
	time.Sleep(3 * time.Second) // until they have their assignments
	return f(all)
}

// applied is a target that does all at once.
type applied struct{}

func (applied) Call(context.Context, executor.Call) executor.Answer {
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

// cost measures the processor time for each of n runs from now on.
func (m *measure) cost(n int) (each func() string, err error) {
	own := ownCPU()
	server, err := m.bench.Databases.CPU()
	return func() string {
		end, _ := m.bench.Databases.CPU() // it has answered before
		micros := func(d time.Duration) int64 { return d.Microseconds() / int64(n) }
		return fmt.Sprintf("CPU of the process %d µs a run, of PostgreSQL %d", micros(ownCPU()-own), micros(end-server))
	}, err
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for no argument that exists
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

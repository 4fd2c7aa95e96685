package postgres_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

// theDay is one on which New York's clocks go forward.
var theDay = time.Date(2027, 3, 14, 0, 0, 0, 0, time.UTC)

// Executors share a database for a day of its clock, and are stopped and
// killed at random. The checker finds one row for each scheduled time and one effect
// for each run that succeeded.
func TestExecutorsShareADay(t *testing.T) {
	for _, n := range []int{2, 5} {
		t.Run(fmt.Sprintf("%d executors", n), func(t *testing.T) {
			d := newDay(t, uint64(n), n)
			d.pass(24 * time.Hour)
			due := d.time()
			d.finish(due)
			for _, m := range d.members {
				d.stop(m, false)
			}
			d.running.Wait()
			found, tally := proof.Check(d.evidence(due))
			for _, v := range found {
				t.Error(v)
			}
			t.Logf("%+v, %d starts, %d kills", tally, d.starts, d.kills)
			if tally.Succeeded < 1000 || d.kills < n {
				t.Error("the day was too quiet to prove anything")
			}
		})
	}
}

// day is a database with a clock of its own, and those who share it.
type day struct {
	*testing.T
	*rand.Rand
	registry *jobs.Registry
	ledger   *postgres.Ledger
	clock    *pgx.Conn
	schema   string
	from     map[string]time.Time // each job's first watermark
	target   *dayTarget
	members  []*sharer
	running  sync.WaitGroup

	starts, kills int

	mu    sync.Mutex
	ahead time.Duration // of the database's clock
}

func newDay(t *testing.T, seed uint64, n int) *day {
	url, schema := testdb.Postgres(t), "day"
	options := []postgres.Option{postgres.Schema(schema), setClock(t, url, schema), postgres.PoolSize(4)}
	if _, err := migrate.Up(t.Context(), url, options...); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	d := &day{
		T: t, Rand: rand.New(rand.NewPCG(seed, 1)), registry: dayRegistry(t), ledger: open(t, url, options...),
		clock: conn, schema: schema, from: map[string]time.Time{},
	}
	d.target = &dayTarget{now: d.time, rand: rand.New(rand.NewPCG(seed, 2)), keys: map[string]bool{}}
	d.shift(theDay.Sub(d.time()))
	d.begin()
	for range n {
		m := &sharer{Ledger: open(t, url, options...)}
		d.members = append(d.members, m)
		d.start(m)
	}
	return d
}

func dayRegistry(t *testing.T) *jobs.Registry {
	entries := []jobs.Entry{
		jobs.Name("day"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, jobs.Cleanup{DisabledBecause: "nothing to purge"},
		jobs.KeyTTL{Scope: "route:*", TTL: 48 * time.Hour},
	}
	overlaps := []jobs.Overlap{jobs.OverlapSkip, jobs.OverlapQueue, jobs.OverlapAllow}
	catchUps := []jobs.CatchUp{jobs.CatchUpAll, jobs.CatchUpLatest, jobs.CatchUpNone}
	for i, schedule := range []string{"* * * * *", "*/2 * * * *", "@every 90s", "30 * * * *", "0,30 1-4 * * *", "30 2 * * *"} {
		entries = append(entries, jobs.Job{
			ID: fmt.Sprint("job-", i), Schedule: schedule, Timezone: "America/New_York", Target: "svc", Path: "/work",
			Overlap: overlaps[i%3], CatchUp: catchUps[i%3], Retry: jobs.Retry{Horizon: 24 * time.Hour},
		})
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// begin begins every job before anybody plans it, to know from when on its
// scheduled times count.
func (d *day) begin() {
	ctx := d.Context()
	var defs []ledger.Definition
	first := ledger.Declaration{Process: "first", Registry: d.registry.Name(), Version: d.registry.Version()}
	for _, j := range d.registry.Jobs() {
		if body, hash, err := j.Definition(); err != nil {
			d.Fatal(err)
		} else if !j.Disabled {
			defs = append(defs, ledger.Definition{JobID: j.ID, Hash: hash, Body: body})
		}
	}
	first.Definitions = slices.Values(defs)
	if err := d.ledger.Declare(ctx, first); err != nil {
		d.Fatal(err)
	}
	list, err := d.ledger.Assignments(ctx, first.Version)
	if err != nil {
		d.Fatal(err)
	}
	for _, s := range list {
		d.from[s.JobID] = s.Watermark
	}
	if err := d.ledger.Retire(ctx, "first"); err != nil {
		d.Fatal(err)
	}
}

// shift moves the database's clock on, and the targets' a moment before it: an
// effect in between must not look as if it had come too early.
func (d *day) shift(by time.Duration) {
	d.Helper()
	d.mu.Lock()
	d.ahead += by
	d.mu.Unlock()
	_, err := d.clock.Exec(d.Context(), fmt.Sprintf(`UPDATE %s_clock.ahead SET d = d + interval '%d microseconds'`, d.schema, by.Microseconds()))
	if err != nil {
		d.Fatal(err)
	}
}

// time is the database's clock, near enough.
func (d *day) time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Add(d.ahead).UTC()
}

// pass lets time pass, in steps that every living process notices, and deals
// out stops, kills and starts.
func (d *day) pass(length time.Duration) {
	for end := d.time().Add(length); d.time().Before(end); {
		d.step(time.Second + time.Duration(d.Int64N(int64(time.Minute))))
		m := d.members[d.IntN(len(d.members))]
		switch d.IntN(120) {
		case 0:
			d.stop(m, true)
		case 1:
			d.stop(m, false)
		case 2, 3, 4, 5, 6, 7:
			d.start(m)
		}
	}
	for _, m := range d.members {
		d.start(m)
	}
}

// step moves the clock, and waits until every process has heard of it: by
// then it has planned what the step before made due.
func (d *day) step(by time.Duration) {
	d.shift(by)
	for _, m := range d.members {
		if m.cancel != nil {
			m.wake()
		}
	}
	for _, m := range d.members {
		if m.cancel == nil {
			continue
		}
		select {
		case <-m.beaten:
		case <-d.Context().Done():
			d.Fatal("a process's heart stands still")
		}
	}
}

// finish lets the retries and taken-over runs of the day come to their end.
func (d *day) finish(due time.Time) {
	for range 5_000 {
		d.step(time.Second) // what the step before made due is planned
		runs, err := d.ledger.List(d.Context(), ledger.Filter{
			States: []ledger.State{ledger.Planned, ledger.Running, ledger.Retrying}, Until: due, Limit: 1,
		})
		if err != nil {
			d.Fatal(err)
		}
		if len(runs) == 0 {
			return
		}
	}
}

func (d *day) start(m *sharer) {
	if m.cancel != nil {
		return
	}
	d.starts++
	fresh := &sharer{Ledger: m.Ledger, beaten: make(chan struct{}, 1), lose: rand.New(rand.NewPCG(d.Uint64(), 3))}
	alarm := &byHand{wakes: make(chan func(), 2)}
	e, err := executor.New(executor.Config{
		Registry: d.registry, Ledger: fresh, Caller: d.target, Alarm: alarm, Grace: time.Second,
	})
	if err != nil {
		d.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.running.Go(func() {
		if err := e.Run(ctx); err != nil {
			d.Error(err)
		}
	})
	<-alarm.wakes
	fresh.wake, fresh.cancel = <-alarm.wakes, cancel
	for i := range d.members {
		if d.members[i] == m {
			d.members[i] = fresh
		}
	}
}

// stop ends a process: gracefully, or as a kill does, after which nothing that
// it does reaches the ledger.
func (d *day) stop(m *sharer, kill bool) {
	if m.cancel == nil {
		return
	}
	if kill {
		d.kills++
		m.mu.Lock()
		m.dead = true
		m.mu.Unlock()
	}
	m.cancel()
	m.cancel = nil
}

func (d *day) evidence(due time.Time) proof.Evidence {
	ctx := d.Context()
	rows, err := d.ledger.List(ctx, ledger.Filter{Limit: math.MaxInt32})
	if err != nil {
		d.Fatal(err)
	}
	status, err := d.ledger.Jobs(ctx)
	if err != nil {
		d.Fatal(err)
	}
	e := proof.Evidence{Rows: rows, Effects: d.target.effects, Requests: d.target.requests, Due: due, Skew: time.Minute}
	for _, s := range status {
		j, _ := d.registry.Job(s.JobID)
		e.Revisions = append(e.Revisions, proof.Revision{JobID: s.JobID, Schedule: j.Parsed(), From: d.from[s.JobID], To: due, Open: true})
	}
	return e
}

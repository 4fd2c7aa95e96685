// Command keyed measures schedules that are made at run time: how fast they are made, how
// late the runs of many that are due at once are planned, and what a process costs that has
// nothing to do while very many wait.
//
//	make bench-peers PEERS=keyed
package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
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

func main() {
	rig.Child()
	n := flag.Int("schedules", 100_000, "how many schedules wait")
	due := flag.Int("due", 10_000, "how many are due in one second")
	idle := flag.Duration("idle", 20*time.Second, "how long the idle process is watched")
	flag.Parse()
	rig.Main(func(ctx context.Context, b *rig.Bench, about string) error {
		fmt.Printf("%s\n\n", about)
		rows := [][]string{}
		for _, store := range []rig.Store{rig.PostgreSQL, rig.SQLite} {
			m, err := openMeasure(ctx, b.Databases, store)
			if err != nil {
				return err
			}
			row, err := m.all(ctx, *n, *due, *idle)
			if err = errorsOf(err, m.Close()); err != nil {
				return fmt.Errorf("%s: %w", store, err)
			}
			rows = append(rows, append([]string{string(store)}, row...))
		}
		fmt.Println(rig.Table([]string{
			"", "put, 1,000 at once", "CPU each", "made, and changed, one by one by 8 callers",
			"made beside 1,000 runs/s",
			fmt.Sprintf("%d due at once, planned after (p50, p99)", *due),
			"CPU of an idle process", "heap with all waiting",
		}, rows))
		return nil
	})
}

func errorsOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// measure is a ledger with a template.
type measure struct {
	ledger.Store
	registry *jobs.Registry
	rules    ledger.ScheduleRules
}

func openMeasure(ctx context.Context, d *rig.Databases, store rig.Store) (m *measure, err error) {
	m = &measure{}
	m.registry, err = jobs.NewRegistry(jobs.Name("keyed"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
		jobs.Cleanup{DisabledBecause: "measured"},
		jobs.Template{Max: 10_000_000, Job: jobs.Job{ID: "report", Target: "svc", Path: "/reports/{{key}}"}})
	if err != nil {
		return nil, err
	}
	m.rules = executor.ScheduleRules(m.registry, 0)
	database, err := d.Fresh(ctx, store)
	if err != nil {
		return nil, err
	}
	if store == rig.SQLite {
		m.Store, err = sqlite.Open(ctx, database, sqlite.Options{})
		return m, err
	}
	if err := contenders.Prepare(ctx, database); err != nil {
		return nil, err
	}
	m.Store, err = postgres.Open(ctx, database, postgres.PoolSize(10))
	return m, err
}

var data = []byte(`{"customer":"acme","note":"two hundred bytes of data, as a caller might send them with a schedule: a name, an address, a format, a language, a currency and so on"}`)

// put makes schedules from one number up to another.
func (m *measure) put(ctx context.Context, prefix string, from, to int, expr func(int) string) error {
	c := ledger.ChangeSchedules{Template: "report", Rules: m.rules, Actor: ledger.Actor{By: "bench", Why: "measured"}}
	for i := from; i < to; i++ {
		c.Items = append(c.Items, ledger.ScheduleChange{
			JobID:           jobs.ScheduleID("report", fmt.Sprintf("%s%07d", prefix, i)),
			ScheduleContent: ledger.ScheduleContent{Expr: expr(i), Timezone: "UTC", DST: "once", Data: data},
		})
	}
	results, err := m.ChangeSchedules(ctx, c)
	for _, r := range results {
		err = errorsOf(err, r.Err)
	}
	return err
}

func (m *measure) all(ctx context.Context, n, due int, idle time.Duration) (row []string, err error) {
	e, err := executor.New(executor.Config{Registry: m.registry, Ledger: m.Store, Caller: applied{}})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- e.Run(running) }()
	defer func() {
		stop()
		err = errorsOf(err, <-done)
	}()
	// Daily, at a time at which nothing here runs.
	soon := time.Now().UTC().Add(2 * time.Hour)
	daily := func(i int) string { return fmt.Sprintf("%d %d * * *", i%60, (soon.Hour()+i%20)%24) }
	begun, cpu := time.Now(), ownCPU()
	for from := 0; from < n; from += 1000 {
		if err := m.put(ctx, "k", from, min(n, from+1000), daily); err != nil {
			return nil, err
		}
	}
	took := time.Since(begun)
	row = append(row, fmt.Sprintf("%.0f/s", float64(n)/took.Seconds()),
		fmt.Sprintf("%.0f µs", float64((ownCPU()-cpu).Microseconds())/float64(n)))

	made, err := m.singles(ctx, "s", daily)
	if err != nil {
		return nil, err
	}
	beside, err := m.besideRuns(ctx, daily)
	if err != nil {
		return nil, err
	}
	changed, err := m.singles(ctx, "s", func(i int) string { return daily(i + 1) })
	if err != nil {
		return nil, err
	}
	row = append(row, fmt.Sprintf("%.0f/s, %.0f/s", made, changed), beside)

	late, err := m.dueAtOnce(ctx, due)
	if err != nil {
		return nil, err
	}
	l := rig.Lateness(late)
	row = append(row, fmt.Sprintf("%s, %s", l.P50.Round(10*time.Millisecond), l.P99.Round(10*time.Millisecond)))
	cpu = ownCPU()
	time.Sleep(idle)
	return append(row, fmt.Sprintf("%.2f %%", 100*(ownCPU()-cpu).Seconds()/idle.Seconds()), heap()), nil
}

const (
	singles, callers = 4000, 8
	besideFor        = 15 // seconds of runs
)

// singles puts schedules one by one by several callers, and returns how many a second.
func (m *measure) singles(ctx context.Context, prefix string, expr func(int) string) (float64, error) {
	begun := time.Now()
	var all sync.WaitGroup
	errs := make([]error, callers)
	for c := range callers {
		all.Go(func() {
			for i := c; i < singles && errs[c] == nil; i += callers {
				errs[c] = m.put(ctx, prefix, i, i+1, expr)
			}
		})
	}
	all.Wait()
	return singles / time.Since(begun).Seconds(), errorsOf(errs...)
}

// besideRuns measures singles while 1,000 schedules are due in each second, and says how
// late the runs of these were planned.
func (m *measure) besideRuns(ctx context.Context, expr func(int) string) (string, error) {
	first := time.Now().UTC().Truncate(time.Second).Add(5 * time.Second)
	for i := range besideFor {
		at := first.Add(time.Duration(i) * time.Second)
		if err := m.put(ctx, fmt.Sprintf("b%02d", i), 0, 1000, func(int) string { return once(at) }); err != nil {
			return "", err
		}
	}
	time.Sleep(time.Until(first.Add(time.Second)))
	rate, err := m.singles(ctx, "t", expr)
	if err != nil {
		return "", err
	}
	seconds := min(besideFor, int(time.Since(first).Seconds()))
	if _, err := m.late(ctx, first, besideFor, 1000*besideFor); err != nil { // so that nothing of them is left
		return "", err
	}
	late, err := m.late(ctx, first, seconds, 1000*seconds)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.0f/s, runs planned after %s (p99)", rate, rig.Lateness(late).P99.Round(10*time.Millisecond)), nil
}

func once(at time.Time) string { return "at(" + at.Format("2006-01-02T15:04:05") + ")" }

// dueAtOnce makes schedules of one time, and returns how long after it the run of each was
// committed.
func (m *measure) dueAtOnce(ctx context.Context, n int) ([]time.Duration, error) {
	at := time.Now().UTC().Truncate(time.Second).Add(15 * time.Second)
	for from := 0; from < n; from += 1000 {
		err := m.put(ctx, "d", from, min(n, from+1000), func(int) string { return once(at) })
		if err != nil {
			return nil, err
		}
	}
	if left := time.Until(at); left < time.Second {
		return nil, fmt.Errorf("the schedules were made %s before they were due", left)
	}
	return m.late(ctx, at, 1, n)
}

// late returns how long after its scheduled time each run of some seconds was committed, of
// n that succeed.
func (m *measure) late(ctx context.Context, from time.Time, seconds, n int) ([]time.Duration, error) {
	for range 120 {
		time.Sleep(time.Second)
		runs, err := m.List(ctx, ledger.Filter{Since: from, Until: from.Add(time.Duration(seconds) * time.Second), Limit: n + 1})
		if err != nil {
			return nil, err
		}
		if runs = slices.DeleteFunc(runs, func(r ledger.Run) bool { return r.State != ledger.Succeeded }); len(runs) < n {
			continue
		}
		late := make([]time.Duration, len(runs))
		for i := range runs {
			late[i] = runs[i].PlannedAt.Sub(runs[i].ScheduledAt)
		}
		return late, nil
	}
	counts, err := m.Counts(ctx)
	return nil, errorsOf(err, fmt.Errorf("not all of %d runs have succeeded two minutes after they were due: %+v", n, counts))
}

// applied is a target that does all at once.
type applied struct{}

func (applied) Call(context.Context, executor.Call) executor.Answer {
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for no argument that exists
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap returns the size of the heap after a collection.
func heap() string {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%.0f MB", float64(m.HeapAlloc)/1e6)
}

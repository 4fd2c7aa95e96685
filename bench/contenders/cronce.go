package contenders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // to count what the embedded ledger holds

	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/targets"
)

// Cronce on PostgreSQL and on embedded SQLite: as many jobs as there are runs,
// all due at one scheduled time, every default as it is. The work begins at the
// scheduled time, so admission is part of it.
var (
	CroncePostgres = rig.Contender{Name: "cronce, PostgreSQL", Store: rig.PostgreSQL, Run: with(runCronce, runPostgres), Stored: storedPostgres("")}
	CronceSQLite   = rig.Contender{Name: "cronce, SQLite", Store: rig.SQLite, Run: with(runCronce, runSQLite), Stored: storedSQLite("")}
)

// work uses a ledger that is open.
type work func(context.Context, *rig.Task, ledger.Store) error

func with(do work, run func(context.Context, *rig.Task, work) error) func(context.Context, *rig.Task) error {
	return func(ctx context.Context, t *rig.Task) error { return run(ctx, t, do) }
}

func runPostgres(ctx context.Context, t *rig.Task, do work) error {
	if err := Prepare(ctx, t.Database); err != nil {
		return err
	}
	l, err := postgres.Open(ctx, t.Database)
	if err != nil {
		return err
	}
	defer l.Close()
	return do(ctx, t, l)
}

// Prepare makes the ledger's tables.
func Prepare(ctx context.Context, database string) error {
	_, err := migrate.Up(ctx, database)
	return err
}

func runSQLite(ctx context.Context, t *rig.Task, do work) error {
	l, err := sqlite.Open(ctx, t.Database, sqlite.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	return do(ctx, t, l)
}

func runCronce(ctx context.Context, t *rig.Task, l ledger.Store) error {
	at := t.At
	if at.IsZero() {
		at = DueTime(t.Runs)
	}
	reg, err := registry(t.Runs, at, 0)
	if err != nil {
		return err
	}
	return runFrom(ctx, t, l, reg, at)
}

// runFrom measures the registry's runs from the scheduled time at which they are due.
func runFrom(ctx context.Context, t *rig.Task, l ledger.Store, reg *jobs.Registry, at time.Time) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.Begin(at)
	w := &watcher{runs: int64(t.Runs), at: at, task: t, statements: map[string]int{}}
	err := execute(ctx, t, reg, &declaration{Ledger: l, at: at, fail: cancel}, w)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return err
}

// execute runs an executor of the registry's jobs until the parent ends it.
func execute(ctx context.Context, t *rig.Task, reg *jobs.Registry, l executor.Ledger, o executor.Observer) error {
	calls, err := targets.New(targets.Config{Registry: reg, Lookup: func(string) (string, bool) { return t.Target, true }})
	if err != nil {
		return err
	}
	defer calls.Close()
	e, err := executor.New(executor.Config{Registry: reg, Ledger: l, Caller: calls, Observer: o})
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

// DueTime is a scheduled time far enough ahead to declare n jobs before it.
func DueTime(n int) time.Time {
	lead := 3*time.Second + time.Duration(n)*250*time.Microsecond
	return time.Now().Add(lead).Truncate(time.Second).Add(time.Second).UTC()
}

// registry has n jobs that are due once, at one time or, in equal parts, at each full
// second of a while from it.
func registry(n int, at time.Time, over time.Duration) (*jobs.Registry, error) {
	entries := []jobs.Entry{jobs.Name("bench"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for i := range n {
		due := at.Add((over * time.Duration(i) / time.Duration(n)).Truncate(time.Second))
		entries = append(entries, jobs.Job{ID: fmt.Sprintf("job-%06d", i), Schedule: "at(" + due.Format("2006-01-02T15:04:05") + ")",
			Target: "svc", Path: "/run"})
	}
	return jobs.NewRegistry(entries...)
}

// declaration is a ledger that fails a round whose jobs it knows only after the scheduled
// time: a job is not due for times before it was declared.
type declaration struct {
	executor.Ledger
	at   time.Time
	fail context.CancelCauseFunc
	then func() error // if set, called once all jobs are declared
	once sync.Once
}

func (d *declaration) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	page, err := d.Ledger.Assignments(ctx, version, after)
	if err == nil && len(page) == 0 && after != "" {
		d.once.Do(func() {
			switch {
			case time.Now().After(d.at):
				d.fail(errors.New("the jobs were declared only after the scheduled time at which they are due; this machine needs more time for it"))
			case d.then != nil:
				if err := d.then(); err != nil {
					d.fail(err)
				}
			}
		})
	}
	return page, err
}

// watcher counts outcomes and notes when each scheduled time was planned.
type watcher struct {
	executor.NopObserver
	runs    int64
	settled atomic.Int64
	at      time.Time
	task    *rig.Task

	mu         sync.Mutex
	planned    []time.Duration
	statements map[string]int
}

// Planned is what cronce says of a round: how late the scheduled times were in the
// ledger, and how often the ledger was asked for what.
type Planned struct {
	rig.Late
	Statements map[string]int
}

func (w *watcher) LedgerCalled(op string, _ time.Duration, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statements[op]++
}

func (w *watcher) Admitted(_ string, _ ledger.State, n int) {
	late := time.Since(w.at)
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		w.planned = append(w.planned, late)
	}
}

func (w *watcher) Recorded(o ledger.Outcome, _ string, result ledger.RecordResult) {
	if o.State != ledger.Succeeded || result != ledger.Recorded {
		return
	}
	if w.settled.Add(1) == w.runs {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.task.Done(Planned{rig.Lateness(w.planned), w.statements})
	}
}

const countSucceeded = `SELECT count(*) FROM %sruns WHERE state = 'succeeded'`

func storedPostgres(and string) func(context.Context, string) (int, error) {
	return func(ctx context.Context, database string) (int, error) {
		return countPostgres(ctx, database, fmt.Sprintf(countSucceeded, "cronce.")+and)
	}
}

func storedSQLite(and string) func(context.Context, string) (int, error) {
	return func(ctx context.Context, database string) (n int, err error) {
		db, err := sql.Open("sqlite", database)
		if err != nil {
			return 0, err
		}
		defer db.Close()
		err = db.QueryRowContext(ctx, fmt.Sprintf(countSucceeded, "")+and).Scan(&n)
		return n, err
	}
}

func countPostgres(ctx context.Context, database, query string) (n int, err error) {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, query).Scan(&n)
	return n, err
}

// SQLiteIndexes returns the statements that take the indexes off the runs, whose filling they
// slow down tenfold, and those that put them back.
func SQLiteIndexes(ctx context.Context, db *sql.DB) (drop, create []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'runs' AND sql IS NOT NULL`)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, nil, err
		}
		drop, create = append(drop, `DROP INDEX `+name), append(create, text)
	}
	return drop, create, rows.Err()
}

package contenders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Cronce with one job whose list has as many members as there are runs. Fetching and
// freezing the list is part of the work.
var (
	FanPostgres = rig.Contender{Name: "members, PostgreSQL", Store: rig.PostgreSQL, Run: fanned(runPostgres), Stored: storedMembersPostgres}
	FanSQLite   = rig.Contender{Name: "members, SQLite", Store: rig.SQLite, Run: fanned(runSQLite), Stored: storedMembersSQLite}
)

func fanned(run func(context.Context, *rig.Task, work) error) func(context.Context, *rig.Task) error {
	return func(ctx context.Context, t *rig.Task) error { return run(ctx, t, runFan) }
}

func runFan(ctx context.Context, t *rig.Task, l ledger.Store) error {
	at := DueTime(1)
	reg, err := jobs.NewRegistry(jobs.Name("bench"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, jobs.Job{
		ID: "bill", Schedule: "at(" + at.Format("2006-01-02T15:04:05") + ")", Target: "svc", Path: "/run/{{key}}",
		Each: jobs.Each{Path: rig.ListPath + strconv.Itoa(t.Runs), Max: max(t.Runs, jobs.DefaultEachMax)},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.Begin(at)
	w := &watcher{runs: int64(t.Runs), at: at, task: t, statements: map[string]int{}}
	err = execute(ctx, t, reg, &declaration{Ledger: l, at: at, fail: cancel}, w)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return err
}

const countMembers = countSucceeded + ` AND parent IS NOT NULL`

func storedMembersPostgres(ctx context.Context, database string) (int, error) {
	return countPostgres(ctx, database, fmt.Sprintf(countMembers, "cronce."))
}

func storedMembersSQLite(ctx context.Context, database string) (n int, err error) {
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	return n, db.QueryRowContext(ctx, fmt.Sprintf(countMembers, "")).Scan(&n)
}

package contenders

import (
	"context"
	"time"

	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

const (
	// settleFor is how long nothing is measured after the jobs are declared.
	settleFor = 2 * time.Second
	// IdleFor is how long it is then measured.
	IdleFor = 20 * time.Second
)

// Idle are cronce's contenders with jobs of which none is due while they are
// measured.
var Idle = []rig.Contender{
	{Name: CroncePostgres.Name, Store: rig.PostgreSQL, Silent: true, Run: idle(runPostgres)},
	{Name: CronceSQLite.Name, Store: rig.SQLite, Silent: true, Run: idle(runSQLite)},
}

func idle(run func(context.Context, *rig.Task, work) error) func(context.Context, *rig.Task) error {
	return func(ctx context.Context, t *rig.Task) error {
		return run(ctx, t, func(ctx context.Context, t *rig.Task, l ledger.Store) error {
			reg, err := registry(t.Runs, time.Now().Add(24*time.Hour), 0)
			if err != nil {
				return err
			}
			return execute(ctx, t, reg, l, &rest{task: t})
		})
	}
}

// rest begins settleFor after the last assignments were read, and is done after IdleFor.
type rest struct {
	executor.NopObserver
	task  *rig.Task
	begin *time.Timer
}

func (r *rest) LedgerCalled(op string, _ time.Duration, err error) {
	switch {
	case op != "assignments" || err != nil:
	case r.begin != nil:
		r.begin.Reset(settleFor)
	default:
		r.begin = time.AfterFunc(settleFor, func() {
			r.task.Begin(time.Now())
			time.AfterFunc(IdleFor, func() { r.task.Done(nil) })
		})
	}
}

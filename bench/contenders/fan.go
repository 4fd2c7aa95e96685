package contenders

import (
	"context"
	"strconv"

	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Cronce with one job whose list has as many members as there are runs. Fetching and
// freezing the list is part of the work.
var (
	FanPostgres = rig.Contender{Name: "members, PostgreSQL", Store: rig.PostgreSQL, Run: with(runFan, runPostgres), Stored: storedPostgres(ofMembers)}
	FanSQLite   = rig.Contender{Name: "members, SQLite", Store: rig.SQLite, Run: with(runFan, runSQLite), Stored: storedSQLite(ofMembers)}
)

const ofMembers = ` AND parent IS NOT NULL`

func runFan(ctx context.Context, t *rig.Task, l ledger.Store) error {
	at := DueTime(1)
	reg, err := jobs.NewRegistry(jobs.Name("bench"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, jobs.Job{
		ID: "bill", Schedule: "at(" + at.Format("2006-01-02T15:04:05") + ")", Target: "svc", Path: "/run/{{key}}",
		Each: jobs.Each{Path: rig.ListPath + strconv.Itoa(t.Runs), Max: max(t.Runs, jobs.DefaultEachMax)},
	})
	if err != nil {
		return err
	}
	return runFrom(ctx, t, l, reg, at)
}

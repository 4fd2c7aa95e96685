package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Redrive makes dead runs due again, under their own keys. The jobs are locked, so
// that no slot is given and no run is entered meanwhile.
func (l *Ledger) Redrive(ctx context.Context, act ledger.Action) (ledger.ActionResult, error) {
	return l.act(ctx, action{
		Action: act, kind: ledger.ActionRedrive, from: []ledger.State{ledger.Dead}, settled: ledgerrules.ExcludedByRedrive(act), jobs: true,
		refuse: (*action).refuseRedrive, do: (*action).redrive,
	})
}

// refuseRedrive refuses the runs that may not be redriven.
func (a *action) refuseRedrive(ctx context.Context, runs []ledger.Run) (fit []ledger.Run, err error) {
	if a.loads, err = a.readLoads(ctx, runs); err != nil {
		return nil, err
	}
	for _, r := range runs {
		if no, refused := ledgerrules.RejectRedrive(a.Action, r, a.now, a.loads[r.JobID].busy); refused {
			a.got.Rejected = append(a.got.Rejected, no)
		} else {
			fit = append(fit, r)
		}
	}
	return fit, nil
}

func (a *action) redrive(ctx context.Context) error {
	var wait, given []string
	for _, r := range a.runs {
		given = append(given, r.JobID)
		if j := a.loads[r.JobID]; !a.Force || !j.taken {
			wait = append(wait, r.ID)
			j.taken = true
		}
	}
	err := a.change(ctx, `state = 'retrying', reason = '', failures = 0, due_at = now(), finished_at = NULL, acked_at = NULL, accepted_at = NULL,
		waiting = r.takes_slot AND r.run_id = ANY ($4::text[]), by = $2, why = $3`, idsOf(a.runs), a.By, a.Why, orEmpty(wait))
	if err != nil {
		return err
	}
	_, err = a.tx.Exec(ctx, grantSQL, slices.Compact(slices.Sorted(slices.Values(given))))
	return err
}

// jobLoad is what a job was doing before a redrive.
type jobLoad struct {
	busy  bool // it has an unfinished run that no part of the action redrove
	taken bool // its slot is taken
}

// readLoads reads the load of each of the runs' jobs before the action.
func (a *action) readLoads(ctx context.Context, runs []ledger.Run) (map[string]*jobLoad, error) {
	jobs := map[string]*jobLoad{}
	for _, r := range runs {
		jobs[r.JobID] = &jobLoad{}
	}
	rows, err := a.tx.Query(ctx, `
		SELECT r.job_id, r.slot IS NOT NULL, $1 <> '' AND EXISTS (
			SELECT FROM audit a WHERE a.run_id = r.run_id AND a.run_id <> '' AND a.act = 'redrive' AND a.by = $2
				AND (a.request = $1 OR starts_with(a.request, $1 || '/')))
		FROM runs r WHERE `+unfinished, sanitize(a.Continues), a.By)
	if err != nil {
		return nil, err
	}
	var id string
	var taken, continued bool
	_, err = pgx.ForEachRow(rows, []any{&id, &taken, &continued}, func() error {
		if j := jobs[id]; j != nil {
			j.busy, j.taken = j.busy || !continued, j.taken || taken
		}
		return nil
	})
	return jobs, err
}

package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Redrive asks dead runs again, under their own keys. The jobs are locked, so
// that nobody gives their slots away or enters a run for them meanwhile.
func (l *Ledger) Redrive(ctx context.Context, act ledger.Act) (ledger.Acted, error) {
	return l.act(ctx, "redrive", act, []ledger.State{ledger.Dead}, true, func(ctx context.Context, a *action) error {
		jobs, err := a.standOf(ctx)
		if err != nil {
			return err
		}
		var ids, wait, given []string
		for _, r := range a.runs {
			j := jobs[r.JobID]
			if why := a.refusal(r, j); why != "" {
				a.refuse(r.ID, why)
				continue
			}
			ids, given = append(ids, r.ID), append(given, r.JobID)
			if !a.Force || !j.taken {
				wait = append(wait, r.ID)
				j.taken = true
			}
		}
		err = a.change(ctx, `state = 'retrying', reason = '', failures = 0, due_at = now(), finished_at = NULL, acked_at = NULL,
			waiting = r.takes_slot AND r.run_id = ANY ($4::text[]), by = $2, why = $3`, orEmpty(ids), clean(a.By), clean(a.Why), orEmpty(wait))
		if err != nil {
			return err
		}
		_, err = a.tx.Exec(ctx, grantSQL, slices.Compact(slices.Sorted(slices.Values(given))))
		return err
	})
}

func (a *action) refusal(r ledger.Run, j *stand) string {
	switch {
	case !r.SendBefore.IsZero() && !a.now.Before(r.SendBefore):
		return "its key may be forgotten since " + r.SendBefore.Format(time.RFC3339) +
			": rerun it as new work if it must be done again"
	case j.busy && !a.Force:
		return "another run of " + r.JobID + " is unfinished: wait for it, or force"
	}
	return ""
}

// stand is what a redrive must know of a job.
type stand struct {
	busy  bool // a run of it is unfinished
	taken bool // its slot is
}

// standOf reads how the selected runs' jobs stood before the act.
func (a *action) standOf(ctx context.Context) (map[string]*stand, error) {
	jobs := map[string]*stand{}
	for _, r := range a.runs {
		jobs[r.JobID] = &stand{}
	}
	rows, err := a.tx.Query(ctx, `SELECT r.job_id, r.slot IS NOT NULL FROM runs r WHERE `+unfinished)
	if err != nil {
		return nil, err
	}
	var id string
	var taken bool
	_, err = pgx.ForEachRow(rows, []any{&id, &taken}, func() error {
		if j := jobs[id]; j != nil {
			j.busy, j.taken = true, j.taken || taken
		}
		return nil
	})
	return jobs, err
}

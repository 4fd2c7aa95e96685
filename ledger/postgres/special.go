package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// divideSpecial separates the plans that need more than admitSQL: few, if any.
func divideSpecial(plans []ledger.Plan) (plain, special []ledger.Plan) {
	if !slices.ContainsFunc(plans, isSpecial) {
		return plans, nil
	}
	for _, p := range plans {
		if isSpecial(p) {
			special = append(special, p)
		} else {
			plain = append(plain, p)
		}
	}
	return plain, special
}

// isSpecial reports whether a plan needs more than admitSQL.
func isSpecial(p ledger.Plan) bool {
	if p.Next != nil || len(p.Events) > 0 {
		return true
	}
	return slices.ContainsFunc(p.Runs, func(in ledger.RunSpec) bool { return isRange(in) || in.State == ledger.Missed })
}

func isRange(in ledger.RunSpec) bool { return !in.Until.IsZero() }

// admitSpecial admits plans with missed or range rows, events or an end of their
// revision in a transaction of several statements, and returns the jobs whose plans
// were current.
func (l *Ledger) admitSpecial(ctx context.Context, a ledger.Admission, plans []ledger.Plan, got *ledger.Admitted) ([]string, error) {
	var current []string
	err := l.transact(ctx, "admit", func(tx pgx.Tx) error {
		before := ledger.Admitted{Skipped: map[ledger.Reason]int{}}
		runs, ranges := divide(plans)
		var err error
		current, err = l.admit(ctx, tx, a, runs, false, &before)
		if err != nil {
			return err
		}
		if err := finishSpecial(ctx, tx, plans, ranges, current); err != nil {
			return err
		}
		if err := openMissed(ctx, tx, plans, current); err != nil {
			return err
		}
		got.Now = before.Now
		got.Leased = append(got.Leased, before.Leased...)
		for reason, n := range before.Skipped {
			got.Skipped[reason] += n
		}
		return nil
	})
	return current, err
}

// divide takes the range rows out of plans.
func divide(plans []ledger.Plan) (runs []ledger.Plan, ranges map[string][]ledger.RunSpec) {
	ranges = map[string][]ledger.RunSpec{}
	for _, p := range plans {
		var own []ledger.RunSpec
		for _, in := range p.Runs {
			if isRange(in) {
				ranges[p.JobID] = append(ranges[p.JobID], in)
			} else {
				own = append(own, in)
			}
		}
		p.Runs = own
		runs = append(runs, p)
	}
	return runs, ranges
}

// finishSpecial writes, for the plans that were admitted, what admitSQL does
// not. Their jobs are locked.
func finishSpecial(ctx context.Context, tx pgx.Tx, plans []ledger.Plan, ranges map[string][]ledger.RunSpec, current []string) error {
	admitted := setOf(current)
	var batch pgx.Batch
	for _, p := range plans {
		if !admitted[p.JobID] {
			continue
		}
		for _, in := range ranges[p.JobID] {
			from, below := ledger.RunIDRange(p.JobID, in.ScheduledAt, in.Until)
			batch.Queue(insertRangeSQL, in.RunID, p.JobID, in.ScheduledAt, in.Until, in.Count, string(in.State), string(in.Reason), string(in.Trigger), p.Revision, from, below)
		}
		for _, e := range p.Events {
			batch.Queue(insertEventSQL, p.JobID, e.At, string(e.Kind), e.Local, e.Zone)
		}
		if p.Next != nil {
			queueRevision(&batch, p)
		}
	}
	return tx.SendBatch(ctx, &batch).Close()
}

// openMissed opens the incidents of the rows that this transaction wrote as missed.
func openMissed(ctx context.Context, tx pgx.Tx, plans []ledger.Plan, current []string) error {
	admitted := setOf(current)
	var ids []string
	for _, p := range plans {
		for _, in := range p.Runs {
			if in.State == ledger.Missed && admitted[p.JobID] {
				ids = append(ids, in.RunID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `
		SELECT job_id, run_id, reason, '', count FROM runs WHERE run_id = ANY ($1::text[]) AND state = 'missed' AND planned_at = now()`, ids)
	if err != nil {
		return err
	}
	missed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledgerrules.Problem])
	if err != nil {
		return err
	}
	return openIncidents(ctx, tx, ledger.IncidentMissed, missed)
}

// insertRangeSQL leaves out the scheduled times that have a row of their own.
const insertRangeSQL = `
	INSERT INTO runs (run_id, job_id, scheduled_at, until, count, state, reason, trigger, revision, planned_at, finished_at)
	SELECT $1, $2, $3, $4, $5 - own.n, $6, $7, $8, $9, now(), now()
	FROM (
		SELECT count(*) AS n FROM runs r
		WHERE r.run_id >= $10 AND r.run_id < $11 AND r.scheduled_at BETWEEN $3 AND $4 AND r.until IS NULL AND strpos(r.run_id, '~') = 0
	) own
	WHERE own.n < $5
	ON CONFLICT DO NOTHING`

const insertEventSQL = `INSERT INTO events (job_id, at, kind, local, zone) VALUES ($1, $2, $3, $4, $5)`

// queueRevision ends the plan's revision and begins the next, if there is one.
func queueRevision(batch *pgx.Batch, p ledger.Plan) {
	event := func(kind ledger.EventKind) {
		batch.Queue(insertEventSQL, p.JobID, p.Through, string(kind), "", "")
	}
	event(ledger.EventRevisionEnded)
	if p.Next.Hash == "" {
		batch.Queue(`UPDATE jobs SET ended_at = now(), body = NULL WHERE job_id = $1`, p.JobID)
		return
	}
	batch.Queue(`UPDATE jobs SET revision = revision + 1, hash = $2, body = $3 WHERE job_id = $1`, p.JobID, p.Next.Hash, p.Next.Body)
	event(ledger.EventRevisionBegun)
}

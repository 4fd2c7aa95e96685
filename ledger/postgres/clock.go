package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// latestSQL selects the latest heartbeat or lease of an unfinished run, and the time.
const latestSQL = `
	SELECT max(at), now() FROM (
		SELECT heartbeat_at AS at FROM processes
		UNION ALL SELECT leased_at FROM runs WHERE due_at IS NOT NULL AND NOT waiting
	) facts`

// followClock moves what is in progress if the clock was set back. See ledger.ClockStep.
// The lock keeps two processes from doing it both, and every other from a deadlock
// with it.
func (l *Ledger) followClock(ctx context.Context) error {
	return l.transact(ctx, "follow the clock", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE processes, incidents, runs IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		var latest *time.Time
		var now time.Time
		if err := tx.QueryRow(ctx, latestSQL).Scan(&latest, &now); err != nil {
			return err
		}
		step := ledger.ClockStep(timeOf(latest), now)
		if step == 0 {
			return nil
		}
		var batch pgx.Batch
		batch.Queue(`UPDATE processes SET heartbeat_at = now() WHERE heartbeat_at > now()`)
		batch.Queue(`UPDATE incidents SET due_at = due_at - $1 * interval '1 microsecond' WHERE due_at IS NOT NULL`, microseconds(step))
		batch.Queue(`
			UPDATE runs SET changed = DEFAULT,
				due_at = least(due_at, greatest(due_at - $1 * interval '1 microsecond', now() + $2 * interval '1 microsecond'))
			WHERE due_at IS NOT NULL AND (planned_at > now() OR leased_at > now() OR due_at > now() + $1 * interval '1 microsecond')
				AND (started_at IS NOT NULL OR scheduled_at <= now() OR strpos(run_id, '~') > 0)`, microseconds(step), microseconds(ledger.ProcessTTL))
		batch.Queue(`UPDATE runs SET leased_at = now() WHERE due_at IS NOT NULL AND leased_at > now()`)
		batch.Queue(`
			UPDATE runs SET changed = DEFAULT, send_before = send_before - $1 * interval '1 microsecond',
				key_safe_until = key_safe_until - $1 * interval '1 microsecond'
			WHERE (due_at IS NOT NULL OR state = 'dead') AND (started_at > now() OR started_at <= now() - $2 * interval '1 microsecond')`,
			microseconds(step), microseconds(ledger.ProcessTTL))
		return tx.SendBatch(ctx, &batch).Close()
	})
}

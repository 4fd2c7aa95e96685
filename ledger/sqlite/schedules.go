package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

const scheduleColumns = `SELECT` + sqltx.ScheduleColumns + `,` + sqltx.PositionColumns + `, t.purged_through `

// LockSchedules returns the schedules that exist, by JobID. The write lock protects them.
func (t *tx) LockSchedules(jobIDs []string) ledger.Future[[]ledger.ScheduleRow] {
	return sqltx.List(t.Tx, sqltx.ReadSchedule, scheduleColumns+`
		FROM json_each(?) j CROSS JOIN schedules s ON s.job_id = j.value JOIN positions p ON p.id = s.id
			JOIN schedule_templates t ON t.id = p.template
		ORDER BY s.job_id`, jobIDs)
}

func (t *tx) LockDueSchedules(template string, since time.Time, limit int) ledger.Future[[]ledger.ScheduleRow] {
	return sqltx.List(t.Tx, sqltx.ReadSchedule, scheduleColumns+`
		FROM schedule_templates t CROSS JOIN positions p ON p.template = t.id CROSS JOIN schedules s ON s.id = p.id
		WHERE t.name = ?1 AND p.next_at <= ?2 AND p.next_at >= ?3 ORDER BY p.next_at LIMIT 0 + ?4`, template, t.now, since, limit)
}

func (t *tx) CountDue(by time.Time, limit int, held []string) ledger.Future[map[string]int] {
	among, args := ``, []any{by, limit}
	if len(held) > 0 {
		among, args = ` AND target NOT IN (SELECT value FROM json_each(?3))`, append(args, held)
	}
	return sqltx.Counts(t.Tx, `SELECT substr(job_id, 1, max(0, instr(job_id, ':') - 1)) AS of, count(*)
		FROM (SELECT job_id FROM runs WHERE due_at <= ?1 AND waiting = 0`+among+` ORDER BY due_at LIMIT 0 + ?2) GROUP BY of`, args...)
}

func (t *tx) LockSchedulesAfter(template string, after int64, limit int) ledger.Future[ledger.SchedulePage] {
	last, err := sqltx.One(t.Tx, sqltx.Number,
		`SELECT coalesce(max(id), 0) FROM (SELECT id FROM positions WHERE id > ?1 ORDER BY id LIMIT 0 + ?2)`,
		after, limit).Get()
	if err != nil {
		return ledger.ResolvedFuture(ledger.SchedulePage{}, err)
	}
	rows, err := sqltx.List(t.Tx, sqltx.ReadSchedule, scheduleColumns+`
		FROM positions p CROSS JOIN schedules s ON s.id = p.id CROSS JOIN schedule_templates t ON t.id = p.template
		WHERE p.id > ?1 AND p.id <= ?2 AND t.name = ?3 AND p.next_at IS NOT NULL ORDER BY p.id`, after, last, template).Get()
	return ledger.ResolvedFuture(ledger.SchedulePage{Rows: rows, Last: last}, err)
}

func (t *tx) InsertSchedules(list []ledger.ScheduleRow) ledger.Future[[]bool] {
	inserted := make([]bool, len(list))
	for i := range list {
		s := &list[i]
		ids, err := sqltx.List(t.Tx, sqltx.Number, `
			INSERT INTO schedules (job_id, generation, expr, timezone, dst, data, until, created_at, changed_at, changed_by, deleted_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job_id) DO NOTHING RETURNING id`,
			s.JobID, s.Generation, s.Expr, s.Timezone, s.DST, s.Data, s.Until, s.CreatedAt, s.ChangedAt, s.ChangedBy, s.DeletedAt).Get()
		if inserted[i] = len(ids) > 0; inserted[i] && err == nil {
			s.ID = ids[0]
			err = t.Exec(`INSERT INTO positions (id, template, revision, watermark, next_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)`,
				s.ID, s.TemplateID, s.Revision, s.Watermark, s.NextAt, s.EndedAt)
		}
		if err != nil {
			return ledger.ResolvedFuture(inserted, err)
		}
	}
	return ledger.ResolvedFuture(inserted, nil)
}

func (t *tx) UpdateSchedules(list []ledger.ScheduleUpdate) error {
	for _, u := range list {
		if err := t.updateSchedule(u.Row, u.Set); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) updateSchedule(s *ledger.ScheduleRow, set ledger.ScheduleColumns) (err error) {
	put := func(of ledger.ScheduleColumns, columns string, values ...any) {
		if set&of != 0 && err == nil {
			err = t.Exec(`UPDATE `+columns+` WHERE id = ?1`, append([]any{s.ID}, values...)...)
		}
	}
	put(ledger.ScheduleColPosition, `positions SET revision = ?2, watermark = ?3, next_at = ?4, ended_at = ?5`,
		s.Revision, s.Watermark, s.NextAt, s.EndedAt)
	put(ledger.ScheduleColContent, `schedules SET generation = ?2, expr = ?3, timezone = ?4, dst = ?5, data = ?6, until = ?7, created_at = ?8,
		changed_at = ?9, changed_by = ?10, deleted_at = ?11`,
		s.Generation, s.Expr, s.Timezone, s.DST, s.Data, s.Until, s.CreatedAt, s.ChangedAt, s.ChangedBy, s.DeletedAt)
	put(ledger.ScheduleColPause, `positions SET paused_at = ?2`, s.PausedAt)
	put(ledger.ScheduleColFailure, `positions SET failed_at = ?2`, s.FailedAt)
	put(ledger.ScheduleColPause, `schedules SET paused_by = ?2, paused_why = ?3`, s.PausedBy, s.PausedWhy)
	return err
}

// countOrDeleteSchedules counts, or deletes, schedules that have ended up to a time.
func (t *tx) countOrDeleteSchedules(q ledger.OldRows, limit int, del bool) ledger.Future[int] {
	const old = `(SELECT id FROM positions WHERE ended_at <= ?1
			AND (template IN (SELECT id FROM schedule_templates WHERE name IN (SELECT value FROM json_each(?3)))) <> ?4
		ORDER BY ended_at, id LIMIT 0 + ?2)`
	args := append([]any{q.Until, orAll(limit)}, ofTemplates(q.Of)...)
	if !del {
		return sqltx.One(t.Tx, sqltx.Count, `SELECT count(*) FROM `+old, args...)
	}
	if err := t.Exec(`DELETE FROM schedules WHERE id IN `+old, args...); err != nil {
		return ledger.ResolvedFuture(0, err)
	}
	return t.deleted(`DELETE FROM positions WHERE id IN `+old, args...)
}

package postgres

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// InsertSchedules writes the content and the position of each schedule in one statement.
func (t *tx) InsertSchedules(list []ledger.ScheduleRow) ledger.Future[[]bool] {
	q := query{sql: `
		WITH u AS MATERIALIZED (
			SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
			AS u (job_id, expr, timezone, dst, data, until, generation, created_at, changed_at, changed_by, deleted_at,
				template, revision, watermark, next_at, ended_at)
		), s AS (
			INSERT INTO schedules (job_id, expr, timezone, dst, data, until, generation, created_at, changed_at, changed_by, deleted_at)
			SELECT job_id, expr, timezone, dst, data, until, generation, created_at, changed_at, changed_by, deleted_at FROM u ORDER BY job_id
			ON CONFLICT (job_id) DO NOTHING RETURNING id, job_id
		), p AS (
			INSERT INTO positions (id, template, revision, watermark, next_at, ended_at)
			SELECT s.id, u.template, u.revision, u.watermark, u.next_at, u.ended_at FROM s JOIN u ON u.job_id = s.job_id
		)
		SELECT job_id FROM s`}
	rows := make([]ledger.ScheduleUpdate, len(list))
	for i := range list {
		rows[i].Row = &list[i]
	}
	bindSchedule(&q.args, rows)
	array(&q.args, int8Kind, rows, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendInt8(b, u.Row.TemplateID) })
	bindPosition(&q.args, rows)
	written := make(map[string]bool, len(list))
	q.row = func(v *values) error {
		written[v.Text()] = true
		return nil
	}
	wait := t.queue(q)
	return ledger.LazyFuture(func() ([]bool, error) {
		err := wait()
		inserted := make([]bool, len(list))
		for i := range list {
			inserted[i] = written[list[i].JobID]
		}
		return inserted, err
	})
}

// bindSchedule adds the content that the caller gave of each item's schedule.
func bindSchedule(p *params, list []ledger.ScheduleUpdate) {
	for _, get := range []func(*ledger.ScheduleRow) string{
		func(s *ledger.ScheduleRow) string { return s.JobID }, func(s *ledger.ScheduleRow) string { return s.Expr },
		func(s *ledger.ScheduleRow) string { return s.Timezone }, func(s *ledger.ScheduleRow) string { return s.DST },
	} {
		array(p, textKind, list, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendText(b, get(u.Row)) })
	}
	array(p, bytesKind, list, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendBytes(b, u.Row.Data) })
	bindTimes(p, list, func(s *ledger.ScheduleRow) time.Time { return s.Until })
	array(p, int8Kind, list, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendInt8(b, u.Row.Generation) })
	bindTimes(p, list, func(s *ledger.ScheduleRow) time.Time { return s.CreatedAt },
		func(s *ledger.ScheduleRow) time.Time { return s.ChangedAt })
	array(p, textKind, list, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendText(b, u.Row.ChangedBy) })
	bindTimes(p, list, func(s *ledger.ScheduleRow) time.Time { return s.DeletedAt })
}

// bindPosition adds the position of each item's schedule: its revision, watermark, next check and
// end.
func bindPosition(p *params, list []ledger.ScheduleUpdate) {
	array(p, int8Kind, list, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendInt8(b, u.Row.Revision) })
	bindTimes(p, list, func(s *ledger.ScheduleRow) time.Time { return s.Watermark }, func(s *ledger.ScheduleRow) time.Time { return s.NextAt },
		func(s *ledger.ScheduleRow) time.Time { return s.EndedAt })
}

// bindTimes adds an array for each of the times.
func bindTimes(p *params, list []ledger.ScheduleUpdate, values ...func(*ledger.ScheduleRow) time.Time) {
	for _, value := range values {
		array(p, timeKind, list, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendTime(b, value(u.Row)) })
	}
}

// UpdateSchedules writes each group of fields for the schedules that change it, in one statement a
// group: positions change with each run, contents seldom.
func (t *tx) UpdateSchedules(list []ledger.ScheduleUpdate) error {
	with := func(set ledger.ScheduleColumns, sql string, bind func(*params, []ledger.ScheduleUpdate)) {
		var some []ledger.ScheduleUpdate
		for _, u := range list {
			if u.Set&set != 0 {
				some = append(some, u)
			}
		}
		if len(some) == 0 {
			return
		}
		q := query{sql: sql}
		array(&q.args, int8Kind, some, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendInt8(b, u.Row.ID) })
		bind(&q.args, some)
		t.p.add(q)
	}
	with(ledger.ScheduleColPosition, `
		UPDATE positions p SET revision = u.revision, watermark = u.watermark, next_at = u.next_at, ended_at = u.ended_at
		FROM unnest($1, $2, $3, $4, $5) AS u (id, revision, watermark, next_at, ended_at) WHERE p.id = u.id`,
		bindPosition)
	with(ledger.ScheduleColContent, `
		UPDATE schedules s SET expr = u.expr, timezone = u.timezone, dst = u.dst, data = u.data, until = u.until, generation = u.generation,
			created_at = u.created_at, changed_at = u.changed_at, changed_by = u.changed_by, deleted_at = u.deleted_at
		FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			AS u (id, job_id, expr, timezone, dst, data, until, generation, created_at, changed_at, changed_by, deleted_at) WHERE s.id = u.id`,
		bindSchedule)
	at := func(set ledger.ScheduleColumns, column string, value func(*ledger.ScheduleRow) time.Time) {
		with(set, `UPDATE positions p SET `+column+` = u.at FROM unnest($1, $2) AS u (id, at) WHERE p.id = u.id`,
			func(p *params, some []ledger.ScheduleUpdate) { bindTimes(p, some, value) })
	}
	at(ledger.ScheduleColPause, `paused_at`, func(s *ledger.ScheduleRow) time.Time { return s.PausedAt })
	at(ledger.ScheduleColFailure, `failed_at`, func(s *ledger.ScheduleRow) time.Time { return s.FailedAt })
	with(ledger.ScheduleColPause, `UPDATE schedules s SET paused_by = u.by, paused_why = u.why
		FROM unnest($1, $2, $3) AS u (id, by, why) WHERE s.id = u.id`,
		func(p *params, some []ledger.ScheduleUpdate) {
			array(p, textKind, some, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendText(b, u.Row.PausedBy) })
			array(p, textKind, some, func(b []byte, u *ledger.ScheduleUpdate) []byte { return appendText(b, u.Row.PausedWhy) })
		})
	return nil
}

// countOrDeleteSchedules counts, or deletes, schedules that have ended up to a time.
func (t *tx) countOrDeleteSchedules(old ledger.OldRows, limit int, del bool) ledger.Future[int] {
	among := old.Of.Except || len(old.Of.Templates) == 0
	text, args := `SELECT o.id FROM positions o WHERE o.ended_at <= $1
		AND (o.template IN (SELECT id FROM schedule_templates WHERE name = ANY ($2))) <> $3`, []any{old.Until, old.Of.Templates, among}
	if limit > 0 {
		text, args = text+` ORDER BY o.ended_at, o.id LIMIT $4`, append(args, limit)
	}
	if !del {
		return sqltx.One(t.Tx, sqltx.Count, `SELECT count(*) FROM (`+text+`) o`, args...)
	}
	return sqltx.One(t.Tx, sqltx.Count, `
		WITH gone AS (DELETE FROM positions WHERE id = ANY (ARRAY(`+text+`)) RETURNING id),
			said AS (DELETE FROM schedules s USING gone WHERE s.id = gone.id)
		SELECT count(*) FROM gone`, args...)
}

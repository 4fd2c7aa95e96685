package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// ownerOf is a run's job, or the template of its schedule.
const ownerOf = `substr(job_id, 1, instr(job_id || ':', ':') - 1)`

const (
	templateColumns = `SELECT id, name, live, purged_through, swept FROM schedule_templates`

	scheduleColumns = `
		SELECT s.id, p.template, s.job_id, s.expr, s.timezone, s.dst, s.data, s.until, s.generation, p.revision, p.watermark, p.next_at,
			p.paused_at, s.paused_by, s.paused_why, s.created_at, s.changed_at, s.changed_by, p.ended_at, s.deleted_at, t.purged_through`
	schedulesOf = scheduleColumns + `
		FROM json_each(?) j CROSS JOIN schedules s ON s.job_id = j.value JOIN positions p ON p.id = s.id
			JOIN schedule_templates t ON t.id = p.template
		ORDER BY s.job_id`
	dueSchedules = scheduleColumns + `
		FROM schedule_templates t CROSS JOIN positions p ON p.template = t.id CROSS JOIN schedules s ON s.id = p.id
		WHERE t.name = ?1 AND p.next_at <= ?2 ORDER BY p.next_at LIMIT 0 + ?3`
	firstDue = `
		SELECT t.name, (SELECT min(next_at) FROM positions p WHERE p.template = t.id AND p.next_at IS NOT NULL)
		FROM json_each(?) j CROSS JOIN schedule_templates t ON t.name = j.value`
	countByTemplate = `SELECT substr(job_id, 1, max(0, instr(job_id, ':') - 1)) AS of, count(*) FROM (SELECT job_id FROM runs WHERE `
	dueByTemplate   = countByTemplate + `due_at <= ?1 AND waiting = 0 ORDER BY due_at LIMIT 0 + ?2) GROUP BY of`
	dueElsewhere    = countByTemplate + `due_at <= ?1 AND waiting = 0 AND target NOT IN (SELECT value FROM json_each(?3)) ORDER BY due_at LIMIT 0 + ?2) GROUP BY of`
	schedulesByID   = scheduleColumns + `
		FROM schedules s CROSS JOIN positions p ON p.id = s.id CROSS JOIN schedule_templates t ON t.id = p.template
		WHERE s.job_id > ?1 AND s.job_id < ?2 AND s.deleted_at IS NULL ORDER BY s.job_id LIMIT 0 + ?3`
	lastOfPage     = `SELECT coalesce(max(id), 0) FROM (SELECT id FROM positions WHERE id > ?1 ORDER BY id LIMIT 0 + ?2)`
	sweepSchedules = scheduleColumns + `
		FROM positions p CROSS JOIN schedules s ON s.id = p.id CROSS JOIN schedule_templates t ON t.id = p.template
		WHERE p.id > ?1 AND p.id <= ?2 AND t.name = ?3 AND p.next_at IS NOT NULL ORDER BY p.id`
)

func scanSchedule(row scanner) (s ledger.ScheduleRow, err error) {
	var until, next, paused, ended, deleted, purged nullTime
	var watermark, created, changed int64
	err = row.Scan(&s.ID, &s.TemplateID, &s.JobID, &s.Expr, &s.Timezone, &s.DST, &s.Data, &until, &s.Generation, &s.Revision, &watermark,
		&next,
		&paused, &s.PausedBy, &s.PausedWhy, &created, &changed, &s.ChangedBy, &ended, &deleted, &purged)
	s.Until, s.Watermark, s.NextAt, s.PausedAt = until.time(), at(watermark), next.time(), paused.time()
	s.CreatedAt, s.ChangedAt, s.EndedAt, s.DeletedAt, s.PurgedThrough = at(created), at(changed), ended.time(), deleted.time(), purged.time()
	return s, err
}

func (t *tx) PeekJobs(ids []string) ledger.Later[[]ledger.JobRow] { return t.Jobs(ids) }

func scanTemplate(row scanner) (r ledger.TemplateRow, err error) {
	var purged nullTime
	err = row.Scan(&r.ID, &r.Name, &r.Live, &purged, &r.Swept)
	r.PurgedThrough = purged.time()
	return r, err
}

// LockTemplate returns the row of a template, and makes one if there is none. The write lock
// protects it.
func (t *tx) LockTemplate(name string) ledger.Later[ledger.TemplateRow] {
	_, err := t.exec(`INSERT INTO schedule_templates (name) VALUES (?) ON CONFLICT DO NOTHING`, name)
	if err != nil {
		return ledger.Known(ledger.TemplateRow{}, err)
	}
	list, err := all(t, scanTemplate, templateColumns+` WHERE name = ?`, name)
	if err != nil {
		return ledger.Known(ledger.TemplateRow{}, err)
	}
	return ledger.Known(list[0], nil)
}

func (t *tx) Templates() ledger.Later[[]ledger.TemplateRow] {
	return ledger.Known(all(t, scanTemplate, templateColumns+` ORDER BY name`))
}

func (t *tx) PutTemplate(r ledger.TemplateRow) error {
	_, err := t.exec(`UPDATE schedule_templates SET live = ?2, purged_through = ?3, swept = ?4 WHERE id = ?1`,
		r.ID, r.Live, micros(r.PurgedThrough), r.Swept)
	return err
}

// LockSchedules returns the schedules that exist, by JobID. The write lock protects them.
func (t *tx) LockSchedules(jobIDs []string) ledger.Later[[]ledger.ScheduleRow] {
	return ledger.Known(all(t, scanSchedule, schedulesOf, array(jobIDs)))
}

func (t *tx) DueSchedules(template string, limit int) ledger.Later[[]ledger.ScheduleRow] {
	return ledger.Known(all(t, scanSchedule, dueSchedules, template, t.now, limit))
}

func (t *tx) FirstDue(templates []string) ledger.Later[map[string]time.Time] {
	first := map[string]time.Time{}
	_, err := all(t, func(row scanner) (none struct{}, err error) {
		var name string
		var next nullTime
		if err = row.Scan(&name, &next); next.Valid {
			first[name] = next.time()
		}
		return none, err
	}, firstDue, array(templates))
	return ledger.Known(first, err)
}

func (t *tx) CountDue(by time.Time, limit int, held []string) ledger.Later[map[string]int] {
	if len(held) > 0 {
		return counts(t, dueElsewhere, by.UnixMicro(), limit, array(held))
	}
	return counts(t, dueByTemplate, by.UnixMicro(), limit)
}

func (t *tx) Schedules(f ledger.ScheduleFilter) ledger.Later[[]ledger.ScheduleRow] {
	after, below := f.Bounds()
	return ledger.Known(all(t, scanSchedule, schedulesByID, after, below, f.PageSize()))
}

func (t *tx) SchedulesAfter(template string, after int64, limit int) ledger.Later[ledger.SchedulePage] {
	var page ledger.SchedulePage
	_, err := t.one(lastOfPage, []any{after, limit}, &page.Last)
	if err == nil {
		page.Rows, err = all(t, scanSchedule, sweepSchedules, after, page.Last, template)
	}
	return ledger.Known(page, err)
}

func (t *tx) InsertSchedules(list []ledger.ScheduleRow) ledger.Later[[]bool] {
	inserted := make([]bool, len(list))
	for i := range list {
		s := &list[i]
		found, err := t.one(`
			INSERT INTO schedules (job_id, generation, expr, timezone, dst, data, until, created_at, changed_at, changed_by, deleted_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job_id) DO NOTHING RETURNING id`,
			[]any{s.JobID, s.Generation, s.Expr, s.Timezone, s.DST, s.Data, micros(s.Until), s.CreatedAt.UnixMicro(), s.ChangedAt.UnixMicro(),
				s.ChangedBy, micros(s.DeletedAt)},
			&s.ID)
		if err == nil && found {
			_, err = t.exec(`INSERT INTO positions (id, template, revision, watermark, next_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)`,
				s.ID, s.TemplateID, s.Revision, s.Watermark.UnixMicro(), micros(s.NextAt), micros(s.EndedAt))
		}
		if err != nil {
			return ledger.Known(inserted, err)
		}
		inserted[i] = found
	}
	return ledger.Known(inserted, nil)
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
	if set&ledger.SchedulePosition != 0 {
		_, err = t.exec(`UPDATE positions SET revision = ?2, watermark = ?3, next_at = ?4, ended_at = ?5 WHERE id = ?1`,
			s.ID, s.Revision, s.Watermark.UnixMicro(), micros(s.NextAt), micros(s.EndedAt))
	}
	if err == nil && set&ledger.ScheduleSaid != 0 {
		_, err = t.exec(`
			UPDATE schedules SET generation = ?2, expr = ?3, timezone = ?4, dst = ?5, data = ?6, until = ?7, created_at = ?8, changed_at = ?9,
				changed_by = ?10, deleted_at = ?11 WHERE id = ?1`,
			s.ID, s.Generation, s.Expr, s.Timezone, s.DST, s.Data, micros(s.Until), s.CreatedAt.UnixMicro(), s.ChangedAt.UnixMicro(),
			s.ChangedBy, micros(s.DeletedAt))
	}
	if err != nil || set&ledger.SchedulePause == 0 {
		return err
	}
	if _, err = t.exec(`UPDATE positions SET paused_at = ?2 WHERE id = ?1`, s.ID, micros(s.PausedAt)); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE schedules SET paused_by = ?2, paused_why = ?3 WHERE id = ?1`, s.ID, s.PausedBy, s.PausedWhy)
	return err
}

// oldSchedules counts, or deletes, schedules that have ended up to a time.
func (t *tx) oldSchedules(q ledger.OldRows, limit int, del bool) ledger.Later[int] {
	if limit < 1 {
		limit = -1 // none
	}
	const old = `(SELECT id FROM positions WHERE ended_at <= ?1 AND (template IN (SELECT id FROM schedule_templates WHERE name IN (SELECT value FROM json_each(?3)))) <> ?4
		ORDER BY ended_at, id LIMIT 0 + ?2)`
	args := append([]any{q.Until.UnixMicro(), limit}, ofTemplates(q.Of)...)
	if !del {
		n := 0
		_, err := t.one(`SELECT count(*) FROM `+old, args, &n)
		return ledger.Known(n, err)
	}
	_, err := t.exec(`DELETE FROM schedules WHERE id IN `+old, args...)
	if err != nil {
		return ledger.Known(0, err)
	}
	n, err := t.exec(`DELETE FROM positions WHERE id IN `+old, args...)
	return ledger.Known(int(n), err)
}

package sqltx

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

const selectTemplates = `SELECT id, name, live, purged_through, swept FROM schedule_templates`

func readTemplate(v Values) (r ledger.TemplateRow, err error) {
	r.ID, r.Name, r.Schedules, r.PurgedThrough, r.Swept = v.Int(), v.Text(), int(v.Int()), v.Time(), v.Text()
	return r, nil
}

func (t Tx) LockTemplate(name string) ledger.Future[ledger.TemplateRow] {
	err := t.Engine.Exec(`INSERT INTO schedule_templates (name) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM schedule_templates WHERE name = $1)
		ON CONFLICT DO NOTHING`, name)
	if err != nil {
		return ledger.ResolvedFuture(ledger.TemplateRow{}, err)
	}
	return One(t, readTemplate, selectTemplates+` WHERE name = $1`+t.Lock, name)
}

func (t Tx) Templates() ledger.Future[[]ledger.TemplateRow] {
	return List(t, readTemplate, selectTemplates+` ORDER BY name`)
}

func (t Tx) PutTemplate(r ledger.TemplateRow) error {
	return t.Engine.Exec(`UPDATE schedule_templates SET live = $2, purged_through = $3, swept = $4 WHERE id = $1`,
		r.ID, r.Schedules, r.PurgedThrough, r.Swept)
}

func (t Tx) FirstDue(templates []string, since time.Time) ledger.Future[map[string]time.Time] {
	return ByText(t, Values.Time, `
		SELECT name, next_at FROM (
			SELECT t.name, (SELECT min(p.next_at) FROM positions p WHERE p.template = t.id AND p.next_at IS NOT NULL AND p.next_at >= $2) AS next_at
			FROM schedule_templates t WHERE t.name `+t.Dialect.In("$1")+`) first
		WHERE next_at IS NOT NULL`, templates, since)
}

// ScheduleColumns are the columns of a schedule s, and PositionColumns those of its position p.
const (
	ScheduleColumns = ` s.id, s.job_id, s.expr, s.timezone, s.dst, s.data, s.until, s.generation, s.paused_by, s.paused_why,
		s.created_at, s.changed_at, s.changed_by, s.deleted_at `
	PositionColumns = ` p.id, p.template, p.revision, p.watermark, p.next_at, p.paused_at, p.ended_at, p.failed_at `
)

// ReadScheduleColumns reads ScheduleColumns.
func ReadScheduleColumns(v Values, s *ledger.ScheduleRow) {
	s.ID, s.JobID, s.Expr, s.Timezone, s.DST, s.Data, s.Until, s.Generation = v.Int(), v.Text(), v.Text(), v.Text(), v.Text(), v.Bytes(),
		v.Time(), v.Int()
	s.PausedBy, s.PausedWhy, s.CreatedAt, s.ChangedAt, s.ChangedBy, s.DeletedAt = v.Text(), v.Text(), v.Time(), v.Time(), v.Text(), v.Time()
}

// ReadPositionColumns reads PositionColumns.
func ReadPositionColumns(v Values, s *ledger.ScheduleRow) {
	s.ID, s.TemplateID, s.Revision, s.Watermark, s.NextAt, s.PausedAt, s.EndedAt, s.FailedAt = v.Int(), v.Int(), v.Int(), v.Time(), v.Time(),
		v.Time(), v.Time(), v.Time()
}

// ReadSchedule reads ScheduleColumns, PositionColumns and the template's purged_through.
func ReadSchedule(v Values) (s ledger.ScheduleRow, err error) {
	ReadScheduleColumns(v, &s)
	ReadPositionColumns(v, &s)
	s.PurgedThrough = v.Time()
	return s, nil
}

// Schedules finds the page first, and then where each of its schedules stands.
func (t Tx) Schedules(f ledger.ScheduleFilter) ledger.Future[[]ledger.ScheduleRow] {
	after, below := f.Bounds()
	return List(t, ReadSchedule, `
		SELECT`+ScheduleColumns+`,`+PositionColumns+`, t.purged_through
		FROM (SELECT * FROM schedules WHERE job_id > $1 AND job_id < $2 AND deleted_at IS NULL ORDER BY job_id LIMIT 0 + $3) s
		CROSS JOIN positions p CROSS JOIN schedule_templates t WHERE p.id = s.id AND t.id = p.template ORDER BY s.job_id`,
		after, below, f.PageSize())
}

package postgres

import (
	"sort"
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) PeekJobs(ids []string) ledger.Later[[]ledger.JobRow] {
	q := query{sql: `SELECT` + jobColumns + `FROM jobs WHERE job_id = ANY ($1) ORDER BY job_id`}
	q.args.texts(ids)
	return ask(t, q, readJob)
}

const templateColumns = ` id, name, live, purged_through, swept `

func readTemplate(v *values) (r ledger.TemplateRow, err error) {
	r.ID, r.Name, r.Live, r.PurgedThrough, r.Swept = v.int(), v.text(), int(v.int()), v.time(), v.text()
	return r, nil
}

func (t *tx) LockTemplate(name string) ledger.Later[ledger.TemplateRow] {
	insert := query{sql: `INSERT INTO schedule_templates (name) SELECT $1 WHERE NOT EXISTS (SELECT FROM schedule_templates WHERE name = $1) ON CONFLICT DO NOTHING`}
	insert.args.text(name)
	t.p.add(insert)
	q := query{sql: `SELECT` + templateColumns + `FROM schedule_templates WHERE name = $1 FOR UPDATE`}
	q.args.text(name)
	return one(ask(t, q, readTemplate))
}

func (t *tx) Templates() ledger.Later[[]ledger.TemplateRow] {
	return ask(t, query{sql: `SELECT` + templateColumns + `FROM schedule_templates ORDER BY name`}, readTemplate)
}

func (t *tx) PutTemplate(r ledger.TemplateRow) error {
	q := query{sql: `UPDATE schedule_templates SET live = $2, purged_through = $3, swept = $4 WHERE id = $1`}
	q.args.int8(r.ID)
	q.args.int8(int64(r.Live))
	q.args.time(r.PurgedThrough)
	q.args.text(r.Swept)
	t.p.add(q)
	return nil
}

// said are the columns of a schedule that a statement after the lock of its position reads:
// one of both would return the position of now with the content of before, if another
// transaction has changed both meanwhile.
const (
	said     = ` s.id, s.job_id, s.expr, s.timezone, s.dst, s.data, s.until, s.generation, s.paused_by, s.paused_why, s.created_at, s.changed_at, s.changed_by, s.deleted_at `
	position = ` p.id, p.template, p.revision, p.watermark, p.next_at, p.paused_at, p.ended_at `
)

func readSaid(v *values, s *ledger.ScheduleRow) {
	s.ID, s.JobID, s.Expr, s.Timezone, s.DST, s.Data, s.Until, s.Generation = v.int(), v.text(), v.text(), v.text(), v.text(), v.bytes(),
		v.time(), v.int()
	s.PausedBy, s.PausedWhy, s.CreatedAt, s.ChangedAt, s.ChangedBy, s.DeletedAt = v.text(), v.text(), v.time(), v.time(), v.text(), v.time()
}

func readPosition(v *values, s *ledger.ScheduleRow) {
	s.ID, s.TemplateID, s.Revision, s.Watermark, s.NextAt, s.PausedAt, s.EndedAt = v.int(), v.int(), v.int(), v.time(), v.time(), v.time(),
		v.time()
}

func positionRow(v *values) (s ledger.ScheduleRow, err error) {
	readPosition(v, &s)
	return s, nil
}

func saidRow(v *values) (s ledger.ScheduleRow, err error) {
	readSaid(v, &s)
	s.PurgedThrough = v.time()
	return s, nil
}

// scheduleRow reads both.
func scheduleRow(v *values) (s ledger.ScheduleRow, err error) {
	readSaid(v, &s)
	readPosition(v, &s)
	s.PurgedThrough = v.time()
	return s, nil
}

// purgedThrough is that of the schedule's template.
const purgedThrough = ` (SELECT t.purged_through FROM positions p JOIN schedule_templates t ON t.id = p.template WHERE p.id = s.id) `

// complete completes positions, in their order, by the schedules that were read after them.
// Those that were inserted between are left out.
func complete(positions, said []ledger.ScheduleRow) []ledger.ScheduleRow {
	byID := make(map[int64]*ledger.ScheduleRow, len(said))
	for i := range said {
		byID[said[i].ID] = &said[i]
	}
	list := make([]ledger.ScheduleRow, 0, len(positions))
	for i := range positions {
		if s, p := byID[positions[i].ID], &positions[i]; s != nil {
			s.TemplateID, s.Revision, s.Watermark, s.NextAt, s.PausedAt, s.EndedAt = p.TemplateID, p.Revision, p.Watermark, p.NextAt, p.PausedAt,
				p.EndedAt
			list = append(list, *s)
		}
	}
	return list
}

// LockSchedules locks the schedules that exist, and returns them by JobID. It locks them in
// the order of their IDs.
func (t *tx) LockSchedules(jobIDs []string) ledger.Later[[]ledger.ScheduleRow] {
	lock := query{sql: `
		SELECT` + position + `FROM positions p
		WHERE p.id = ANY (ARRAY(SELECT s.id FROM schedules s WHERE s.job_id = ANY ($1))) ORDER BY p.id` + t.forUpdate()}
	lock.args.texts(jobIDs)
	locked := ask(t, lock, positionRow)
	q := query{sql: `SELECT` + said + `,` + purgedThrough + `FROM schedules s WHERE s.job_id = ANY ($1) ORDER BY s.job_id`}
	q.args.texts(jobIDs)
	read := ask(t, q, saidRow)
	return ledger.Await(func() ([]ledger.ScheduleRow, error) {
		list, err := read.Get()
		if err != nil {
			return nil, err
		}
		positions, err := locked.Get()
		list = complete(positions, list)
		sort.Slice(list, func(i, k int) bool { return list[i].JobID < list[k].JobID })
		return list, err
	})
}

func (t *tx) DueSchedules(template string, limit int) ledger.Later[[]ledger.ScheduleRow] {
	q := query{sql: `
		SELECT` + position + `FROM positions p
		WHERE p.template = (SELECT id FROM schedule_templates WHERE name = $1) AND p.next_at <= now() AND p.next_at IS NOT NULL
		ORDER BY p.next_at LIMIT $2 FOR UPDATE OF p SKIP LOCKED`}
	q.args.text(template)
	q.args.int8(int64(limit))
	return t.withSaid(ask(t, q, positionRow))
}

// withSaid reads the schedules of positions, which are locked, and returns them in the order
// of the positions.
func (t *tx) withSaid(locked ledger.Later[[]ledger.ScheduleRow]) ledger.Later[[]ledger.ScheduleRow] {
	return ledger.Await(func() ([]ledger.ScheduleRow, error) {
		positions, err := locked.Get()
		if err != nil || len(positions) == 0 {
			return nil, err
		}
		q := query{sql: `SELECT` + said + `,` + purgedThrough + `FROM schedules s WHERE s.id = ANY ($1)`}
		array(&q.args, int8Kind, positions, func(b []byte, s *ledger.ScheduleRow) []byte { return appendInt8(b, s.ID) })
		read, err := ask(t, q, saidRow).Get()
		return complete(positions, read), err
	})
}

func (t *tx) FirstDue(templates []string) ledger.Later[map[string]time.Time] {
	q := query{sql: `
		SELECT t.name, p.next_at FROM schedule_templates t CROSS JOIN LATERAL (
			SELECT next_at FROM positions WHERE template = t.id AND next_at IS NOT NULL ORDER BY next_at LIMIT 1) p
		WHERE t.name = ANY ($1)`}
	q.args.texts(templates)
	return byText(t, q, (*values).time)
}

func (t *tx) CountDue(by time.Time, limit int, held []string) ledger.Later[map[string]int] {
	among := ``
	if len(held) > 0 {
		among = ` AND target <> ALL ($3)`
	}
	q := query{sql: `
		SELECT CASE WHEN strpos(job_id, ':') > 0 THEN split_part(job_id, ':', 1) ELSE '' END, count(*)
		FROM (SELECT job_id FROM runs WHERE due_at <= $2 AND due_at IS NOT NULL AND NOT waiting` + among + ` ORDER BY due_at LIMIT $1) r GROUP BY 1`}
	q.args.int8(int64(limit))
	q.args.time(by)
	if len(held) > 0 {
		q.args.texts(held)
	}
	return byText(t, q, func(v *values) int { return int(v.int()) })
}

// Schedules returns the schedules of a filter. It finds the page first, and then where each
// of them stands.
func (t *tx) Schedules(f ledger.ScheduleFilter) ledger.Later[[]ledger.ScheduleRow] {
	after, below := f.Bounds()
	q := query{sql: `
		SELECT` + said + `,` + position + `, t.purged_through
		FROM (SELECT * FROM schedules WHERE job_id > $1 AND job_id < $2 AND deleted_at IS NULL ORDER BY job_id LIMIT $3) s
		JOIN positions p ON p.id = s.id JOIN schedule_templates t ON t.id = p.template ORDER BY s.job_id`}
	q.args.text(after)
	q.args.text(below)
	q.args.int8(int64(f.PageSize()))
	return ask(t, q, scheduleRow)
}

func (t *tx) SchedulesAfter(template string, after int64, limit int) ledger.Later[ledger.SchedulePage] {
	return ledger.Await(func() (page ledger.SchedulePage, err error) {
		q := query{sql: `SELECT coalesce(max(id), 0) FROM (SELECT id FROM positions WHERE id > $1 ORDER BY id LIMIT $2) p`}
		q.args.int8(after)
		q.args.int8(int64(limit))
		if page.Last, err = one(ask(t, q, func(v *values) (int64, error) { return v.int(), nil })).Get(); err != nil {
			return page, err
		}
		lock := query{sql: `
			SELECT` + position + `FROM positions p
			WHERE p.id > $1 AND p.id <= $2 AND p.template = (SELECT id FROM schedule_templates WHERE name = $3) AND p.next_at IS NOT NULL
			ORDER BY p.id FOR UPDATE OF p`}
		lock.args.int8(after)
		lock.args.int8(page.Last)
		lock.args.text(template)
		page.Rows, err = t.withSaid(ask(t, lock, positionRow)).Get()
		return page, err
	})
}

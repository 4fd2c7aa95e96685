package postgres

import (
	"sort"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// A statement after the lock of a schedule's position reads the schedule: one of both would
// return the position of now with the content of before, if another transaction has changed
// both meanwhile.
func positionRow(v sqltx.Values) (s ledger.ScheduleRow, err error) {
	sqltx.ReadPositionColumns(v, &s)
	return s, nil
}

func scheduleRow(v sqltx.Values) (s ledger.ScheduleRow, err error) {
	sqltx.ReadScheduleColumns(v, &s)
	s.PurgedThrough = v.Time()
	return s, nil
}

// purgedThrough is that of the schedule's template.
const purgedThrough = ` (SELECT t.purged_through FROM positions p JOIN schedule_templates t ON t.id = p.template WHERE p.id = s.id) `

// joinPositions completes positions, in their order, by the schedules that were read after them.
// Those that were inserted between are left out.
func joinPositions(positions, schedules []ledger.ScheduleRow) []ledger.ScheduleRow {
	byID := make(map[int64]*ledger.ScheduleRow, len(schedules))
	for i := range schedules {
		byID[schedules[i].ID] = &schedules[i]
	}
	list := make([]ledger.ScheduleRow, 0, len(positions))
	for i := range positions {
		if s, p := byID[positions[i].ID], &positions[i]; s != nil {
			s.TemplateID, s.Revision, s.Watermark, s.NextAt, s.PausedAt, s.EndedAt, s.FailedAt = p.TemplateID, p.Revision, p.Watermark, p.NextAt,
				p.PausedAt, p.EndedAt, p.FailedAt
			list = append(list, *s)
		}
	}
	return list
}

// LockSchedules locks the schedules that exist, and returns them by JobID. It locks them in
// the order of their IDs.
func (t *tx) LockSchedules(jobIDs []string) ledger.Future[[]ledger.ScheduleRow] {
	locked := sqltx.List(t.Tx, positionRow, `SELECT`+sqltx.PositionColumns+`FROM positions p
		WHERE p.id = ANY (ARRAY(SELECT s.id FROM schedules s WHERE s.job_id = ANY ($1))) ORDER BY p.id`+t.Lock, jobIDs)
	read := sqltx.List(t.Tx, scheduleRow,
		`SELECT`+sqltx.ScheduleColumns+`,`+purgedThrough+`FROM schedules s WHERE s.job_id = ANY ($1) ORDER BY s.job_id`, jobIDs)
	return ledger.LazyFuture(func() ([]ledger.ScheduleRow, error) {
		list, err := read.Get()
		if err != nil {
			return nil, err
		}
		positions, err := locked.Get()
		list = joinPositions(positions, list)
		sort.Slice(list, func(i, k int) bool { return list[i].JobID < list[k].JobID })
		return list, err
	})
}

func (t *tx) LockDueSchedules(template string, since time.Time, limit int) ledger.Future[[]ledger.ScheduleRow] {
	return t.withSchedules(sqltx.List(t.Tx, positionRow, `SELECT`+sqltx.PositionColumns+`FROM positions p
		WHERE p.template = (SELECT id FROM schedule_templates WHERE name = $1) AND p.next_at <= now() AND p.next_at >= $2
			AND p.next_at IS NOT NULL
		ORDER BY p.next_at LIMIT $3 FOR UPDATE OF p SKIP LOCKED`, template, since, limit))
}

// withSchedules reads the schedules of positions, which are locked, and returns them in the order
// of the positions.
func (t *tx) withSchedules(locked ledger.Future[[]ledger.ScheduleRow]) ledger.Future[[]ledger.ScheduleRow] {
	return ledger.LazyFuture(func() ([]ledger.ScheduleRow, error) {
		positions, err := locked.Get()
		if err != nil || len(positions) == 0 {
			return nil, err
		}
		ids := make([]int64, len(positions))
		for i := range positions {
			ids[i] = positions[i].ID
		}
		read, err := sqltx.List(t.Tx, scheduleRow, `
			SELECT`+sqltx.ScheduleColumns+`,`+purgedThrough+`FROM schedules s WHERE s.id = ANY ($1)`, ids).Get()
		return joinPositions(positions, read), err
	})
}

func (t *tx) CountDue(by time.Time, limit int, held []string) ledger.Future[map[string]int] {
	among, args := ``, []any{limit, by}
	if len(held) > 0 {
		among, args = ` AND target <> ALL ($3)`, append(args, held)
	}
	return sqltx.Counts(t.Tx, `
		SELECT CASE WHEN strpos(job_id, ':') > 0 THEN split_part(job_id, ':', 1) ELSE '' END, count(*)
		FROM (SELECT job_id FROM runs WHERE due_at <= $2 AND due_at IS NOT NULL AND NOT waiting`+among+` ORDER BY due_at LIMIT $1) r GROUP BY 1`, args...)
}

func (t *tx) LockSchedulesAfter(template string, after int64, limit int) ledger.Future[ledger.SchedulePage] {
	return ledger.LazyFuture(func() (page ledger.SchedulePage, err error) {
		page.Last, err = sqltx.One(t.Tx, sqltx.Number,
			`SELECT coalesce(max(id), 0) FROM (SELECT id FROM positions WHERE id > $1 ORDER BY id LIMIT $2) p`, after, limit).Get()
		if err != nil {
			return page, err
		}
		page.Rows, err = t.withSchedules(sqltx.List(t.Tx, positionRow, `SELECT`+sqltx.PositionColumns+`FROM positions p
			WHERE p.id > $1 AND p.id <= $2 AND p.template = (SELECT id FROM schedule_templates WHERE name = $3) AND p.next_at IS NOT NULL
			ORDER BY p.id FOR UPDATE OF p`, after, page.Last, template)).Get()
		return page, err
	})
}

package postgres

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) HourSpan() ledger.Later[ledger.HourSpan] {
	return one(ask(t, query{sql: `SELECT counted_from, counted_to FROM hour_span` + t.forUpdate()}, func(v *values) (ledger.HourSpan, error) {
		return ledger.HourSpan{From: v.time(), To: v.time()}, nil
	}))
}

func (t *tx) PutHourSpan(s ledger.HourSpan) error {
	q := query{sql: `UPDATE hour_span SET counted_from = $1, counted_to = $2`}
	q.args.time(s.From)
	q.args.time(s.To)
	t.p.add(q)
	return nil
}

const hourColumns = `h.hour, h.job_id, h.counts, h.stale, h.kept`

func hourRow(v *values) (h ledger.HourRow, err error) {
	h.Hour, h.JobID, h.Counts, h.Stale, h.Kept = v.time(), v.text(), v.text(), v.bool(), v.bool()
	return h, nil
}

// HoursOf returns the rows of a job. It looks each hour up: the rows of an hour lie
// together, those of a job do not.
func (t *tx) HoursOf(jobID string, since, until time.Time) ledger.Later[[]ledger.HourRow] {
	q := query{sql: `SELECT ` + hourColumns + ` FROM hours h WHERE h.hour = ANY ($1) AND h.job_id = $2 ORDER BY h.hour` + t.forUpdate()}
	var hours []time.Time
	for ; since.Before(until); since = since.Add(time.Hour) {
		hours = append(hours, since)
	}
	array(&q.args, timeKind, hours, func(b []byte, h *time.Time) []byte { return appendTime(b, *h) })
	q.args.text(jobID)
	return ask(t, q, hourRow)
}

func (t *tx) HoursIn(since, until time.Time, stale bool, limit int) ledger.Later[[]ledger.HourRow] {
	q := query{sql: `SELECT ` + hourColumns + ` FROM hours h WHERE h.hour >= $1 AND h.hour < $2`}
	q.args.time(since)
	q.args.time(until)
	if stale {
		q.sql += ` AND h.stale`
	}
	q.sql += ` ORDER BY h.hour, h.job_id`
	if limit > 0 {
		q.sql += ` LIMIT $3`
		q.args.int8(int64(limit))
	}
	q.sql += t.forUpdate()
	return ask(t, q, hourRow)
}

func (t *tx) PutHours(rows []ledger.HourRow) error {
	q := query{sql: `
		INSERT INTO hours (hour, job_id, counts) SELECT u.* FROM unnest($1, $2, $3) AS u
		ON CONFLICT (hour, job_id) DO UPDATE SET counts = excluded.counts`}
	array(&q.args, timeKind, rows, func(b []byte, h *ledger.HourRow) []byte { return appendTime(b, h.Hour) })
	array(&q.args, textKind, rows, func(b []byte, h *ledger.HourRow) []byte { return appendText(b, h.JobID) })
	array(&q.args, textKind, rows, func(b []byte, h *ledger.HourRow) []byte { return appendText(b, h.Counts) })
	t.p.add(q)
	return nil
}

// flagHours are the statements that set flags. They find each row by its key, whatever the
// statistics say: an UPDATE that joins the keys may read all rows.
var flagHours = map[ledger.HourFlag]string{
	ledger.HourStale: `
		INSERT INTO hours AS h (hour, job_id, stale) SELECT u.hour, u.job_id, true FROM unnest($1::timestamptz[], $2::text[]) AS u (hour, job_id)
		ON CONFLICT (hour, job_id) DO UPDATE SET stale = true WHERE NOT h.stale AND NOT h.kept`,
	ledger.HourFresh: existingHours + `DO UPDATE SET stale = false`,
	ledger.HourKept:  existingHours + `DO UPDATE SET kept = true WHERE NOT h.stale AND NOT h.kept`,
}

// existingHours finds the hours that have rows. OFFSET 0 keeps the server from a join.
const existingHours = `
	INSERT INTO hours AS h (hour, job_id) SELECT u.hour, u.job_id FROM unnest($1::timestamptz[], $2::text[]) AS u (hour, job_id)
	WHERE EXISTS (SELECT FROM hours WHERE hour = u.hour AND job_id = u.job_id OFFSET 0) ON CONFLICT (hour, job_id) `

func (t *tx) FlagHours(keys []ledger.HourKey, flag ledger.HourFlag) error {
	q := query{sql: flagHours[flag]}
	array(&q.args, timeKind, keys, func(b []byte, k *ledger.HourKey) []byte { return appendTime(b, k.Hour) })
	array(&q.args, textKind, keys, func(b []byte, k *ledger.HourKey) []byte { return appendText(b, k.JobID) })
	t.p.add(q)
	return nil
}

func (t *tx) DeleteHours(before time.Time, limit int) error {
	q := query{sql: `
		DELETE FROM hours WHERE ctid = ANY (ARRAY(SELECT ctid FROM hours WHERE hour < $1 ORDER BY hour, job_id LIMIT $2 FOR UPDATE))`}
	q.args.time(before)
	q.args.int8(int64(limit))
	t.p.add(q)
	return nil
}

// bucketOf computes in floats: numerics, which extract returns, take several times as long.
const bucketOf = `floor(8 * ln(greatest(1.0::float8, round(date_part('epoch', `

// delay is a run's Call.Delay in microseconds. Most calls have none: looking for its name
// spares reading them.
const delay = `CASE WHEN strpos(call, '"delay":') > 0 THEN coalesce((call::json ->> 'delay')::float8, 0) / 1000 ELSE 0 END`

// tallied are what a ledger.RunCount has, after the job: a bucket is
// ledger.HistogramBucket of a duration.
const tallied = `
	floor(date_part('epoch', scheduled_at) / 3600)::bigint,
	CASE WHEN until IS NOT NULL THEN 1 WHEN strpos(run_id, '~') > 0 THEN 2 ELSE 0 END, state, trigger,
	CASE WHEN started_at IS NULL THEN -1 ELSE ` + bucketOf + `started_at - scheduled_at) * 1e6 - ` + delay + `))) / ln(2))::int END,
	CASE WHEN started_at IS NULL OR finished_at IS NULL THEN -1 ELSE ` + bucketOf + `finished_at - started_at) * 1e6))) / ln(2))::int END,
	sum(count)::bigint, coalesce(sum(round(date_part('epoch', finished_at - started_at) * 1e6)), 0)::bigint
	FROM runs `

// Tally counts runs from their rows.
func (t *tx) Tally(q ledger.TallyQuery) ledger.Later[[]ledger.RunCount] {
	var s query
	switch {
	case q.Template:
		s.sql = `SELECT '',` + tallied + `WHERE scheduled_at >= $1 AND scheduled_at < $2 AND parent IS NULL AND split_part(job_id, ':', 1) = $3
			GROUP BY 1, 2, 3, 4, 5, 6, 7`
		s.args.time(q.Since)
		s.args.time(q.Until)
		s.args.text(q.JobID)
		return ask(t, s, runCount)
	case q.JobID != "":
		s.sql = `SELECT job_id,` + tallied + `WHERE run_id >= $1 AND run_id < $2 GROUP BY 1, 2, 3, 4, 5, 6, 7`
		from, below := ledger.RunIDInterval(sanitize(q.JobID), q.Since, q.Until)
		s.args.text(from)
		s.args.text(below)
		return ask(t, s, runCount)
	case q.ByJob:
		s.sql = `SELECT split_part(job_id, ':', 1),`
	default:
		s.sql = `SELECT '',`
	}
	s.sql += tallied + `WHERE scheduled_at >= $1 AND scheduled_at < $2 AND parent IS NULL GROUP BY 1, 2, 3, 4, 5, 6, 7`
	s.args.time(q.Since)
	s.args.time(q.Until)
	return ask(t, s, runCount)
}

func runCount(v *values) (c ledger.RunCount, err error) {
	c.JobID, c.Hour, c.Kind, c.State = v.text(), time.Unix(v.int()*3600, 0).UTC(), ledger.RowKind(v.int()), ledger.State(v.text())
	c.Trigger = ledger.Trigger(v.text())
	c.Late, c.Took, c.Count, c.Sum = int(v.int()), int(v.int()), int(v.int()), time.Duration(v.int())*time.Microsecond
	return c, nil
}

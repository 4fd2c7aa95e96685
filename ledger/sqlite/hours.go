package sqlite

import (
	"database/sql"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	hourColumns = `hours.hour, hours.job_id, hours.counts, hours.stale, hours.kept`
	// hoursOf looks each hour up: the rows of an hour lie together, those of a job do not.
	hoursOf = `
		WITH RECURSIVE h (hour) AS (SELECT ?2 UNION ALL SELECT hour + 3600000000 FROM h WHERE hour + 3600000000 < ?3)
		SELECT ` + hourColumns + ` FROM h CROSS JOIN hours ON hours.hour = h.hour AND hours.job_id = ?1 ORDER BY 1`
	hoursIn    = `SELECT ` + hourColumns + ` FROM hours WHERE hour >= ?1 AND hour < ?2 ORDER BY hour, job_id LIMIT ?3 + 0`
	staleHours = `SELECT ` + hourColumns + ` FROM hours WHERE stale = 1 AND hour >= ?1 AND hour < ?2 ORDER BY hour, job_id LIMIT ?3 + 0`
	putHour    = `INSERT INTO hours (hour, job_id, counts) VALUES (?1, ?2, ?3) ON CONFLICT (hour, job_id) DO UPDATE SET counts = ?3`

	// delay is a run's Call.Delay in microseconds. Most calls have none: looking for its
	// name spares reading them.
	delay = `iif(instr(call, '"delay":'), coalesce(json_extract(call, '$.delay'), 0) / 1000, 0)`

	// tallied are what a ledger.RunCount has, after the job: a bucket is
	// ledger.HistogramBucket of a duration, NULL for ledger.NoBucket.
	tallied = ` scheduled_at / 3600000000, CASE WHEN until IS NOT NULL THEN 1 WHEN instr(run_id, '~') > 0 THEN 2 ELSE 0 END, state, trigger,
		CAST(floor(8 * log2(max(1.0, started_at - scheduled_at - ` + delay + `))) AS INTEGER),
		CAST(floor(8 * log2(max(1.0, finished_at - started_at))) AS INTEGER),
		sum(count), coalesce(sum(finished_at - started_at), 0) FROM runs `
	tallyAll      = `SELECT '',` + tallied + `WHERE scheduled_at >= ?1 AND scheduled_at < ?2 AND parent IS NULL GROUP BY 2, 3, 4, 5, 6, 7`
	tallyByJob    = `SELECT ` + ownerOf + `,` + tallied + `WHERE scheduled_at >= ?1 AND scheduled_at < ?2 AND parent IS NULL GROUP BY 1, 2, 3, 4, 5, 6, 7`
	tallyTemplate = `SELECT '',` + tallied + `WHERE scheduled_at >= ?1 AND scheduled_at < ?2 AND parent IS NULL AND ` + ownerOf + ` = ?3 GROUP BY 2, 3, 4, 5, 6, 7`
	tallyJob      = `SELECT job_id,` + tallied + `WHERE run_id >= ?1 AND run_id < ?2 GROUP BY 2, 3, 4, 5, 6, 7`
)

// flagHour are the statements that set flags.
var flagHour = map[ledger.HourFlag]string{
	ledger.HourStale: `INSERT INTO hours (hour, job_id, stale) VALUES (?1, ?2, 1) ON CONFLICT (hour, job_id) DO UPDATE SET stale = 1 WHERE kept = 0`,
	ledger.HourFresh: `UPDATE hours SET stale = 0 WHERE hour = ?1 AND job_id = ?2`,
	ledger.HourKept:  `UPDATE hours SET kept = 1 WHERE hour = ?1 AND job_id = ?2 AND stale = 0`,
}

func (t *tx) HourSpan() ledger.Later[ledger.HourSpan] {
	var from, to nullTime
	_, err := t.one(`SELECT counted_from, counted_to FROM hour_span`, nil, &from, &to)
	return ledger.Known(ledger.HourSpan{From: from.time(), To: to.time()}, err)
}

func (t *tx) PutHourSpan(s ledger.HourSpan) error {
	_, err := t.exec(`UPDATE hour_span SET counted_from = ?, counted_to = ?`, micros(s.From), micros(s.To))
	return err
}

func (t *tx) HoursOf(jobID string, since, until time.Time) ledger.Later[[]ledger.HourRow] {
	if !since.Before(until) {
		return ledger.Later[[]ledger.HourRow]{}
	}
	return ledger.Known(all(t, scanHour, hoursOf, jobID, since.UnixMicro(), until.UnixMicro()))
}

func (t *tx) HoursIn(since, until time.Time, stale bool, limit int) ledger.Later[[]ledger.HourRow] {
	if limit == 0 {
		limit = -1 // none
	}
	query := hoursIn
	if stale {
		query = staleHours
	}
	return ledger.Known(all(t, scanHour, query, since.UnixMicro(), until.UnixMicro(), limit))
}

func scanHour(row scanner) (h ledger.HourRow, err error) {
	var hour int64
	err = row.Scan(&hour, &h.JobID, &h.Counts, &h.Stale, &h.Kept)
	h.Hour = at(hour)
	return h, err
}

func (t *tx) PutHours(rows []ledger.HourRow) error {
	for _, h := range rows {
		if _, err := t.exec(putHour, h.Hour.UnixMicro(), h.JobID, h.Counts); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) FlagHours(keys []ledger.HourKey, flag ledger.HourFlag) error {
	for _, k := range keys {
		if _, err := t.exec(flagHour[flag], k.Hour.UnixMicro(), k.JobID); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) DeleteHours(before time.Time, limit int) error {
	_, err := t.exec(`
		DELETE FROM hours WHERE (hour, job_id) IN (SELECT hour, job_id FROM hours WHERE hour < ?1 ORDER BY hour, job_id LIMIT ?2 + 0)`,
		before.UnixMicro(), limit)
	return err
}

// Tally counts runs from their rows.
func (t *tx) Tally(q ledger.TallyQuery) ledger.Later[[]ledger.RunCount] {
	query, args := tallyAll, []any{q.Since.UnixMicro(), q.Until.UnixMicro()}
	switch {
	case q.Template:
		query, args = tallyTemplate, append(args, q.JobID)
	case q.JobID != "":
		from, below := ledger.RunIDInterval(q.JobID, q.Since, q.Until)
		query, args = tallyJob, []any{from, below}
	case q.ByJob:
		query = tallyByJob
	}
	return ledger.Known(all(t, scanRunCount, query, args...))
}

func scanRunCount(row scanner) (c ledger.RunCount, err error) {
	var hour, sum int64
	var late, took sql.NullInt64
	err = row.Scan(&c.JobID, &hour, &c.Kind, &c.State, &c.Trigger, &late, &took, &c.Count, &sum)
	c.Hour, c.Sum = time.Unix(hour*3600, 0).UTC(), time.Duration(sum)*time.Microsecond
	c.Late, c.Took = bucketOf(late), bucketOf(took)
	return c, err
}

func bucketOf(column sql.NullInt64) int {
	if !column.Valid {
		return ledger.NoBucket
	}
	return int(column.Int64)
}

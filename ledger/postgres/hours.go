package postgres

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// StoredHours returns the rows of jobs. The rows of an hour lie together, those of a job do not: it
// looks each row up.
func (t *tx) StoredHours(jobIDs []string, since, until time.Time) ledger.Future[[]ledger.HourRow] {
	return sqltx.List(t.Tx, sqltx.ReadHour, `SELECT`+sqltx.HourColumns+`FROM hours
		WHERE hour = ANY (ARRAY(SELECT generate_series($2, $3 - interval '1 hour', interval '1 hour'))) AND job_id = ANY ($1)`+t.Lock,
		jobIDs, since, until)
}

// HourSums reads all rows of the hours: OFFSET 0 keeps the server from looking up those of each
// job.
func (t *tx) HourSums(jobIDs []string, since, until time.Time, marks [2]string) ledger.Future[[]ledger.HourSum] {
	return sqltx.List(t.Tx, sqltx.ReadHourSum, `SELECT hour, split_part(split_part(counts, $4, 1), $5, 1), count(*)
		FROM (SELECT * FROM hours WHERE hour >= $2 AND hour < $3 AND NOT stale OFFSET 0) hours JOIN unnest($1) AS j (id) ON j.id = job_id
		GROUP BY 1, 2`, jobIDs, since, until, marks[0], marks[1])
}

func (t *tx) PutHours(rows []ledger.HourRow) error {
	return t.Exec(`
		INSERT INTO hours (hour, job_id, counts) SELECT u.* FROM unnest($1, $2, $3) AS u
		ON CONFLICT (hour, job_id) DO UPDATE SET counts = excluded.counts`,
		mapN(len(rows), func(i int) time.Time { return rows[i].Hour }), mapN(len(rows), func(i int) string { return rows[i].JobID }),
		mapN(len(rows), func(i int) string { return rows[i].Counts }))
}

// flagHours are the statements that set flags. They find each row by its key, whatever the
// statistics say: an UPDATE that joins the keys may read all rows.
var flagHours = map[ledger.HourFlag]string{
	ledger.HourStale: `
		INSERT INTO hours AS h (hour, job_id, stale) SELECT u.hour, u.job_id, true FROM unnest($1::timestamptz[], $2::text[]) AS u (hour, job_id)
		ON CONFLICT (hour, job_id) DO UPDATE SET stale = true WHERE NOT h.stale AND NOT h.kept`,
	ledger.HourNotStale: existingHours + `DO UPDATE SET stale = false`,
	ledger.HourPurged:   existingHours + `DO UPDATE SET kept = true WHERE NOT h.stale AND NOT h.kept`,
}

// existingHours finds the hours that have rows. OFFSET 0 keeps the server from a join.
const existingHours = `
	INSERT INTO hours AS h (hour, job_id) SELECT u.hour, u.job_id FROM unnest($1::timestamptz[], $2::text[]) AS u (hour, job_id)
	WHERE EXISTS (SELECT FROM hours WHERE hour = u.hour AND job_id = u.job_id OFFSET 0) ON CONFLICT (hour, job_id) `

func (t *tx) FlagHours(keys []ledger.HourKey, flag ledger.HourFlag) error {
	return t.Exec(flagHours[flag], mapN(len(keys), func(i int) time.Time { return keys[i].Hour }),
		mapN(len(keys), func(i int) string { return keys[i].JobID }))
}

func (t *tx) DeleteHours(before time.Time, limit int) error {
	return t.Exec(`DELETE FROM hours WHERE ctid = ANY (ARRAY(SELECT ctid FROM hours WHERE hour < $1 ORDER BY hour, job_id LIMIT $2 FOR UPDATE))`,
		before, limit)
}

// bucketOf computes in floats: numerics, which extract returns, take several times as long.
const bucketOf = `floor(8 * ln(greatest(1.0::float8, round(date_part('epoch', `

// delay is a run's Call.Delay in microseconds. Most calls have none: looking for its name
// spares reading them.
const delay = `CASE WHEN strpos(call, '"delay":') > 0 THEN coalesce((call::json ->> 'delay')::float8, 0) / 1000 ELSE 0 END`

// Of each row, what a ledger.RunCount has, after the job: a bucket is ledger.HistogramBucket of a
// duration.
const (
	talliedKinds = `
	floor(date_part('epoch', scheduled_at) / 3600)::bigint,
	CASE WHEN until IS NOT NULL THEN 1 WHEN strpos(run_id, '~') > 0 THEN 2 ELSE 0 END, state, trigger,`
	talliedTimes = `
	CASE WHEN started_at IS NULL THEN -1 ELSE ` + bucketOf + `started_at - scheduled_at) * 1e6 - ` + delay + `))) / ln(2))::int END,
	CASE WHEN started_at IS NULL OR finished_at IS NULL THEN -1 ELSE ` + bucketOf + `finished_at - started_at) * 1e6))) / ln(2))::int END,
	sum(count)::bigint, coalesce(sum(round(date_part('epoch', finished_at - started_at) * 1e6)), 0)::bigint`
	talliedStates = ` -1, -1, sum(count)::bigint, 0::bigint`
)

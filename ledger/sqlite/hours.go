package sqlite

import (
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

const (
	hoursOf = `SELECT` + sqltx.HourColumns + `FROM json_each(?1) j CROSS JOIN hours ON job_id = j.value AND hour >= ?2 AND hour < ?3`
	// cut is counts up to ?4, and hourSums up to ?5 too.
	cut      = `substr(counts, 1, instr(counts || ?4, ?4) - 1)`
	hourSums = `SELECT hour, substr(cut, 1, instr(cut || ?5, ?5) - 1), count(*) FROM (
		SELECT hour, ` + cut + ` AS cut FROM json_each(?1) j CROSS JOIN hours ON job_id = j.value AND hour >= ?2 AND hour < ?3 WHERE stale = 0)
		GROUP BY 1, 2`
	putHour = `INSERT INTO hours (hour, job_id, counts) VALUES (?1, ?2, ?3) ON CONFLICT (hour, job_id) DO UPDATE SET counts = ?3`

	// delay is a run's Call.Delay in microseconds. Most calls have none: looking for its
	// name spares reading them.
	delay = `iif(instr(call, '"delay":'), coalesce(json_extract(call, '$.delay'), 0) / 1000, 0)`

	// What a ledger.RunCount has, after the job: a bucket is ledger.HistogramBucket of a duration,
	// or ledger.NoBucket.
	talliedKinds = ` scheduled_at / 3600000000, CASE WHEN until IS NOT NULL THEN 1 WHEN instr(run_id, '~') > 0 THEN 2 ELSE 0 END, state, trigger,`
	talliedTimes = `
		coalesce(CAST(floor(8 * log2(max(1.0, started_at - scheduled_at - ` + delay + `))) AS INTEGER), -1),
		coalesce(CAST(floor(8 * log2(max(1.0, finished_at - started_at))) AS INTEGER), -1),
		sum(count), coalesce(sum(finished_at - started_at), 0)`
	talliedStates = ` -1, -1, sum(count), 0`
)

// flagHour are the statements that set flags.
var flagHour = map[ledger.HourFlag]string{
	ledger.HourStale:    `INSERT INTO hours (hour, job_id, stale) VALUES (?1, ?2, 1) ON CONFLICT (hour, job_id) DO UPDATE SET stale = 1 WHERE kept = 0`,
	ledger.HourNotStale: `UPDATE hours SET stale = 0 WHERE hour = ?1 AND job_id = ?2`,
	ledger.HourPurged:   `UPDATE hours SET kept = 1 WHERE hour = ?1 AND job_id = ?2 AND stale = 0`,
}

func (t *tx) StoredHours(jobIDs []string, since, until time.Time) ledger.Future[[]ledger.HourRow] {
	return sqltx.List(t.Tx, sqltx.ReadHour, hoursOf, jobIDs, since, until)
}

func (t *tx) HourSums(jobIDs []string, since, until time.Time, marks [2]string) ledger.Future[[]ledger.HourSum] {
	return sqltx.List(t.Tx, sqltx.ReadHourSum, hourSums, jobIDs, since, until, marks[0], marks[1])
}

func (t *tx) PutHours(rows []ledger.HourRow) error {
	for _, h := range rows {
		if err := t.Exec(putHour, h.Hour, h.JobID, h.Counts); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) FlagHours(keys []ledger.HourKey, flag ledger.HourFlag) error {
	for _, k := range keys {
		if err := t.Exec(flagHour[flag], k.Hour, k.JobID); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) DeleteHours(before time.Time, limit int) error {
	return t.Exec(`
		DELETE FROM hours WHERE (hour, job_id) IN (SELECT hour, job_id FROM hours WHERE hour < ?1 ORDER BY hour, job_id LIMIT ?2 + 0)`,
		before, limit)
}

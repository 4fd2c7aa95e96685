package postgres

import (
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqltx"
)

// newestOfJob are the newest $2 rows of job j.id, from the end of its IDs.
var newestOfJob = `SELECT * FROM runs WHERE ` + sqltx.OfJob("j.id") + ` AND until IS NULL ORDER BY run_id DESC LIMIT $2`

func (t *tx) Last(jobIDs []string, states []ledger.State, window int) ledger.Future[[]ledger.Row] {
	where, args := ``, []any{jobIDs, window}
	if states != nil {
		where, args = ` WHERE state = ANY ($3)`, append(args, sqltx.Texts(states))
	}
	return t.Rows(`SELECT`+sqltx.Columns(&dialect, false)+`FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
		SELECT * FROM (`+newestOfJob+`) newest`+where+` ORDER BY run_id DESC LIMIT 1) r`, args...)
}

// Streaks reads up to the first good run: of a job that has failed a few times, few rows.
func (t *tx) Streaks(jobIDs []string, bad, good ledger.State, window int) ledger.Future[map[string]ledger.Streak] {
	return sqltx.ByText(t.Tx, func(v sqltx.Values) ledger.Streak {
		return ledger.Streak{Since: v.Time(), Ended: v.Bool(), Rows: int(v.Int())}
	}, `
		SELECT j.id, s.since, good.id IS NOT NULL, s.n FROM unnest($1) AS j (id) CROSS JOIN LATERAL (
			SELECT (SELECT run_id FROM (`+newestOfJob+`) newest WHERE state = $4 ORDER BY run_id DESC LIMIT 1) AS id) good
		CROSS JOIN LATERAL (SELECT min(scheduled_at) FILTER (WHERE state = $3) AS since, count(*) AS n FROM (
			SELECT state, scheduled_at FROM runs WHERE run_id > coalesce(good.id, j.id || '@') AND run_id < j.id || 'A' AND until IS NULL
			ORDER BY run_id DESC LIMIT $2) newer) s`, jobIDs, window, string(bad), string(good))
}

func (t *tx) CountUnacknowledged(jobIDs []string) ledger.Future[map[string]int] {
	return sqltx.Counts(t.Tx, `SELECT job_id, n
		FROM (SELECT job_id, count(*) AS n FROM runs WHERE `+sqltx.UnacknowledgedRun+` GROUP BY job_id OFFSET 0) unseen
		JOIN unnest($1) AS j (id) ON j.id = job_id`, jobIDs)
}

package postgres

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/ledger"
)

// oldRun is the condition of ledger.OldRuns on a run r. The first line bounds the scan of
// the index by scheduled_at: what is read and kept there is what finished long after its
// time, or is dead and kept longer.
const oldRun = `r.scheduled_at <= $1 AND (
	r.finished_at <= $2 AND NOT (r.state = $3 AND r.acked_at IS NULL) OR r.finished_at <= $4 AND r.state = $3 AND r.acked_at IS NULL)`

func oldRunArgs(q ledger.OldRuns) (p params) {
	p.time(q.Scheduled)
	p.time(q.Finished)
	p.text(string(q.UnseenState))
	p.time(q.UnseenFinished)
	return p
}

func (t *tx) OldRuns(old ledger.OldRuns, after time.Time, limit int) ledger.Later[[]ledger.RunSummary] {
	q := query{sql: `SELECT` + summaryColumns + `FROM runs r WHERE r.parent IS NULL AND ` + oldRun, args: oldRunArgs(old)}
	q.args.int8(int64(limit))
	if !after.IsZero() {
		q.sql += ` AND r.scheduled_at > $6`
		q.args.time(after)
	}
	q.sql += q.args.ofTemplates("r.run_id", old.Of)
	q.sql += ` ORDER BY r.scheduled_at FETCH FIRST ($5) ROWS WITH TIES`
	return ask(t, q, readSummary)
}

// ofTemplates is the condition of ledger.OfTemplates on the ID of a job or run. A colon in the
// run ID of another job comes after its @.
func (p *params) ofTemplates(column string, of ledger.OfTemplates) string {
	if len(of.Templates) == 0 {
		return ""
	}
	p.texts(of.Templates)
	among := "= ANY"
	if of.Except {
		among = "<> ALL"
	}
	return fmt.Sprintf(` AND split_part(%s, ':', 1) %s ($%d)`, column, among, len(p.values))
}

// DeleteOldRuns deletes those of the runs that are old, with their attempts.
func (t *tx) DeleteOldRuns(ids []string, old ledger.OldRuns) ledger.Later[[]ledger.RunSummary] {
	q := query{args: oldRunArgs(old), sql: `
		WITH gone AS (DELETE FROM runs r WHERE r.run_id = ANY ($5) AND ` + oldRun + ` RETURNING` + summaryColumns + `),
			attempts_gone AS (DELETE FROM attempts WHERE run_id = ANY (ARRAY(SELECT run_id FROM gone)))
		SELECT * FROM gone`}
	q.args.texts(ids)
	return ask(t, q, readSummary)
}

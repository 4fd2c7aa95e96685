package sqlite

import (
	"strings"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Audits(f ledger.AuditFilter) ledger.Later[[]ledger.Audit] {
	text, args := selectAudit(f)
	return ledger.Known(all(t, scanAudit, text, args...))
}

// listedAudit selects the entries that lists show: of a series, the newest of a job. Its
// count, auditCount, is that of the series.
const (
	listedAudit = `count > 0 AND (series = '' OR NOT EXISTS (
		SELECT 1 FROM audit n WHERE n.series = a.series AND n.series <> '' AND n.id > a.id AND +n.by = a.by AND n.job_id = a.job_id AND n.count > 0))`
	auditCount = `CASE WHEN series = '' OR count = 0 THEN count ELSE (
		SELECT sum(s.count) FROM audit s WHERE s.series = a.series AND s.series <> '' AND s.by = a.by AND s.job_id = a.job_id) END`
)

func selectAudit(f ledger.AuditFilter) (string, []any) {
	where := []string{`true`}
	var args []any
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if f.RunID != "" {
		add(`id IN (SELECT id FROM audit WHERE run_id = ? AND run_id <> '' UNION ALL SELECT id FROM audit WHERE rerun_id = ? AND rerun_id <> '')`,
			f.RunID, f.RunID)
	} else {
		add(listedAudit)
	}
	if f.JobID != "" {
		add(`job_id = ?`, f.JobID)
	}
	if len(f.JobIDs) > 0 {
		add(dialect.InJobs(f.WithSchedules), array(f.JobIDs))
	}
	if !f.Since.IsZero() {
		add(`at >= ?`, f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add(`at < ?`, f.Until.UnixMicro())
	}
	if f.By != "" {
		add(`by = ?`, f.By)
	}
	if f.Before != 0 {
		add(`id < ?`, f.Before)
	}
	return `SELECT id, at, act, job_id, run_id, rerun_id, by, why, via, ` + auditCount + `, series, about FROM audit a WHERE ` + strings.Join(where, ` AND `) +
		` ORDER BY id DESC LIMIT ?`, append(args, f.PageSize())
}

func scanAudit(row scanner) (a ledger.Audit, err error) {
	var when int64
	err = row.Scan(&a.ID, &when, &a.Action, &a.JobID, &a.RunID, &a.RerunID, &a.By, &a.Why, &a.Via, &a.Count, &a.Series, &a.About)
	a.At = at(when)
	return a, err
}

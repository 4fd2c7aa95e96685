package postgres

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Audits(f ledger.AuditFilter) ledger.Later[[]ledger.Audit] {
	text, args := selectAudit(f)
	q := query{sql: text}
	q.args.all(args)
	return ask(t, q, func(v *values) (a ledger.Audit, err error) {
		a.ID, a.At, a.Action, a.JobID, a.RunID = v.int(), v.time(), ledger.ActionKind(v.text()), v.text(), v.text()
		a.RerunID, a.By, a.Why, a.Via, a.Count, a.Series = v.text(), v.text(), v.text(), ledger.Via(v.text()), int(v.int()), v.text()
		a.About = v.text()
		return a, nil
	})
}

// listedAudit selects the entries that lists show: of a series, the newest of a job. Its
// count, auditCount, is that of the series.
const (
	listedAudit = `count > 0 AND (series = '' OR NOT EXISTS (
		SELECT FROM audit n WHERE n.series = a.series AND n.series <> '' AND n.id > a.id AND n.by = a.by AND n.job_id = a.job_id AND n.count > 0))`
	auditCount = `CASE WHEN series = '' OR count = 0 THEN count ELSE (
		SELECT sum(s.count)::bigint FROM audit s WHERE s.series = a.series AND s.series <> '' AND s.by = a.by AND s.job_id = a.job_id) END`
)

func selectAudit(f ledger.AuditFilter) (string, []any) {
	where := []string{"true"}
	var args []any
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(args))))
	}
	if f.RunID != "" {
		add(`id = ANY (ARRAY(
			SELECT id FROM audit WHERE run_id = ? AND run_id <> '' UNION ALL SELECT id FROM audit WHERE rerun_id = ? AND rerun_id <> ''))`, sanitize(f.RunID))
	} else {
		where = append(where, listedAudit)
	}
	if f.JobID != "" {
		add("job_id = ?", sanitize(f.JobID))
	}
	if len(f.JobIDs) > 0 {
		add(dialect.InJobs(f.WithSchedules), f.JobIDs)
	}
	if !f.Since.IsZero() {
		add("at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		add("at < ?", f.Until)
	}
	if f.By != "" {
		add("by = ?", sanitize(f.By))
	}
	if f.Before != 0 {
		add("id < ?", f.Before)
	}
	args = append(args, int64(f.PageSize()))
	return fmt.Sprintf(`SELECT id, at, act, job_id, run_id, rerun_id, by, why, via, `+auditCount+`, series, about FROM audit a
		WHERE %s ORDER BY id DESC LIMIT $%d`, strings.Join(where, " AND "), len(args)), args
}

package postgres

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// Audits returns the entries of a filter, newest first.
func (t *tx) Audits(f ledger.AuditFilter) ledger.Later[[]ledger.Audit] {
	text, args := selectAudit(f)
	q := query{sql: text}
	q.args.all(args)
	return ask(t, q, func(v *values) (a ledger.Audit, err error) {
		a.ID, a.At, a.Action, a.JobID, a.RunID = v.int(), v.time(), ledger.ActionKind(v.text()), v.text(), v.text()
		a.RerunID, a.By, a.Why, a.Via, a.Request = v.text(), v.text(), v.text(), ledger.Via(v.text()), v.text()
		return a, nil
	})
}

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
	}
	if f.JobID != "" {
		add("job_id = ?", sanitize(f.JobID))
	}
	if f.By != "" {
		add("by = ?", sanitize(f.By))
	}
	if f.Request != "" {
		add("request = ? AND request <> ''", sanitize(f.Request))
	}
	if f.Before != 0 {
		add("id < ?", f.Before)
	}
	args = append(args, int64(f.PageSize()))
	return fmt.Sprintf(`SELECT id, at, act, job_id, run_id, rerun_id, by, why, via, request FROM audit
		WHERE %s ORDER BY id DESC LIMIT $%d`, strings.Join(where, " AND "), len(args)), args
}

package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Audit returns a page of the audit, newest first. See ledger.AuditFilter.
func (l *Ledger) Audit(ctx context.Context, f ledger.AuditFilter) ([]ledger.Audit, error) {
	q, args := selectAudit(f)
	rows, err := l.pool.Query(ctx, q, args...)
	if err != nil {
		return nil, translate("list the audit", err)
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a ledger.Audit, err error) {
		err = row.Scan(&a.ID, &a.At, &a.Action, &a.JobID, &a.RunID, &a.RerunID, &a.By, &a.Why, &a.Via, &a.Request)
		return a, err
	})
	return page, translate("list the audit", err)
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
	args = append(args, f.PageSize())
	return fmt.Sprintf(`SELECT id, at, act, job_id, run_id, rerun_id, by, why, via, request FROM audit
		WHERE %s ORDER BY id DESC LIMIT $%d`, strings.Join(where, " AND "), len(args)), args
}

package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// LeasedWork returns the work that is leased under a token, oldest scheduled time first.
func (l *Ledger) LeasedWork(ctx context.Context, token string) ([]ledger.Work, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT `+workColumns+` FROM runs r
		WHERE r.due_at IS NOT NULL AND NOT r.waiting AND r.state = 'running' AND r.lease_token = $1
		ORDER BY r.scheduled_at, r.run_id`, token)
	if err != nil {
		return nil, translate("recall", err)
	}
	work, err := pgx.CollectRows(rows, newWorkScanner(token).row)
	return work, translate("recall", err)
}

// Extend moves the ends of leases to now + d, and returns the leases that are lost.
func (l *Ledger) Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) (lost []ledger.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	sorted := slices.SortedFunc(slices.Values(leases), func(a, b ledger.Lease) int { return cmp.Compare(a.RunID, b.RunID) })
	var runs, tokens []string
	for _, h := range sorted {
		runs, tokens = append(runs, h.RunID), append(tokens, h.Token)
	}
	held := map[ledger.Lease]bool{}
	err = retry(func() error {
		rows, err := l.pool.Query(ctx, `
			UPDATE runs r SET due_at = now() + $3 * interval '1 microsecond'
			FROM unnest($1::text[], $2::text[]) AS h (run_id, token)
			WHERE r.run_id = h.run_id AND r.lease_token = h.token AND r.state = 'running'
			RETURNING r.run_id, r.lease_token`, runs, tokens, microseconds(d))
		if err != nil {
			return err
		}
		var h ledger.Lease
		_, err = pgx.ForEachRow(rows, []any{&h.RunID, &h.Token}, func() error {
			held[h] = true
			return nil
		})
		return err
	})
	if err != nil {
		return nil, translate("extend", err)
	}
	for _, h := range leases {
		if !held[h] {
			lost = append(lost, h)
		}
	}
	return lost, nil
}

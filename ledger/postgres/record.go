package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// recordSQL writes all outcomes and their attempts at once. Only the holder of
// a lease's token moves a running run. A run's first attempt is kept in its row.
//
// An outcome is sent as its own values and the number of its kind: see columns.
// closed first looks whether any incident is open. Usually none is, and nothing is
// looked up for each outcome.
// A dead outcome takes a second statement, in a transaction: see openIncidents.
//
// The two are joined before the runs are looked up, in the order of their IDs. The
// join is LEFT, so that the planner expects as many rows as there are outcomes. If
// it expected fewer, it would plan each record anew, or scan all kinds for each
// outcome.
var recordSQL = `
WITH outcome AS (
	SELECT o.*, k.*
	FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::timestamptz[])
		WITH ORDINALITY AS o (kind, run_id, started_at, finished_at, place)
	LEFT JOIN unnest($5::text[], $6::text[], $7::text[], $8::boolean[], $9::bigint[], $10::bigint[],
			$11::bigint[], $12::text[], $13::bigint[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[])
		WITH ORDINALITY AS k (token, state, reason, replayed, failures, wait,
			n, answer, status, code, error, detail, owner, waits_for, progress, number)
		ON k.number = o.kind
	ORDER BY o.place
), done AS (
	UPDATE runs r SET
		changed = DEFAULT, state = o.state, reason = o.reason, replayed = o.replayed,
		failures = CASE WHEN o.state = 'planned' THEN r.failures ELSE o.failures END,
		attempt = CASE WHEN o.state = 'planned' OR o.state = 'accepted' AND o.n = 0 THEN r.attempt - 1 ELSE r.attempt END,
		status = CASE WHEN o.n = 0 THEN r.status ELSE o.status END,
		due_at = CASE WHEN o.state IN ('planned', 'retrying', 'accepted') THEN now() + o.wait * interval '1 microsecond' END,
		finished_at = CASE WHEN o.state NOT IN ('planned', 'retrying', 'accepted') THEN now() END,
		slot = CASE WHEN o.state IN ('planned', 'retrying', 'accepted') THEN r.slot END,
		accepted_at = CASE WHEN o.state = 'accepted' THEN coalesce(r.accepted_at, now()) ELSE r.accepted_at END,
		progress = CASE WHEN o.progress <> '' THEN o.progress ELSE r.progress END,
		waits_for = nullif(o.waits_for, ''),
		first_started_at = CASE WHEN o.n = 1 THEN o.started_at ELSE r.first_started_at END,
		first_finished_at = CASE WHEN o.n = 1 THEN o.finished_at ELSE r.first_finished_at END,
		first_status = CASE WHEN o.n = 1 THEN o.status ELSE r.first_status END,
		first_answer = CASE WHEN o.n = 1 THEN o.answer ELSE r.first_answer END,
		first_code = CASE WHEN o.n = 1 THEN o.code ELSE r.first_code END,
		first_error = CASE WHEN o.n = 1 THEN o.error ELSE r.first_error END,
		first_detail = CASE WHEN o.n = 1 THEN o.detail ELSE r.first_detail END,
		first_owner = CASE WHEN o.n = 1 THEN o.owner ELSE r.first_owner END
	FROM outcome o
	WHERE r.run_id = o.run_id AND r.lease_token = o.token AND r.state = 'running'
	RETURNING o.*, r.job_id
), closed AS (
	UPDATE incidents i SET closed_at = now(), due_at = now(), version = i.version + 1,
		closed_by = (SELECT max(d.run_id) FROM done d WHERE d.job_id = i.job_id AND d.state = 'succeeded')
	WHERE i.closed_at IS NULL AND i.id = ANY (CASE WHEN EXISTS (SELECT FROM incidents o WHERE o.closed_at IS NULL) THEN ARRAY(
		SELECT o.id FROM incidents o
		WHERE o.closed_at IS NULL AND o.cause <> 'unplanned' AND o.job_id IN (SELECT d.job_id FROM done d WHERE d.state = 'succeeded')
			AND o.job_id NOT IN (SELECT d.job_id FROM done d WHERE d.state = 'dead')
	) END)
), kept AS (
	INSERT INTO attempts (run_id, n, started_at, finished_at, status, answer, code, error, detail, owner)
	SELECT run_id, n, started_at, finished_at, status, answer, code, error, detail, owner FROM done WHERE n > 1
	ON CONFLICT DO NOTHING
)
SELECT place FROM done`

// Record writes outcomes, each fenced by its lease. An outcome that the statement
// did not write was either written before, by a request whose reply was lost, or
// is fenced. A second statement tells which, since the first may have waited for
// that other request.
func (l *Ledger) Record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
	results := make([]ledger.RecordResult, len(outcomes))
	if len(outcomes) == 0 {
		return results, nil
	}
	columns := columnsOf(outcomes)
	var written []int
	err := retry(func() (err error) {
		if !slices.ContainsFunc(outcomes, func(o ledger.Outcome) bool { return o.State == ledger.Dead }) {
			written, err = columns.record(ctx, l.pool)
			return err
		}
		return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
			if written, err = columns.record(ctx, tx); err != nil {
				return err
			}
			var ended ledgerrules.IncidentChanges
			for _, i := range written {
				ended.Add(outcomes[i])
			}
			return openIncidents(ctx, tx, ledger.IncidentDead, ended.Dead)
		})
	})
	if err != nil {
		return nil, translate("record", err)
	}
	for _, i := range written {
		results[i] = ledger.Recorded
	}
	return results, translate("record", l.findResults(ctx, outcomes, results))
}

// record writes the outcomes and returns which it wrote.
func (c *columns) record(ctx context.Context, q querier) ([]int, error) {
	rows, err := q.Query(ctx, recordSQL, c.arguments()...)
	if err != nil {
		return nil, err
	}
	places, err := pgx.CollectRows(rows, pgx.RowTo[int])
	for i, p := range places {
		places[i] = c.order[p-1]
	}
	return places, err
}

// findResults finds the results of the outcomes that were not written.
func (l *Ledger) findResults(ctx context.Context, outcomes []ledger.Outcome, results []ledger.RecordResult) error {
	var open []int
	var runs, tokens []string
	for i, f := range results {
		if f == "" {
			results[i] = ledger.Fenced
			open, runs, tokens = append(open, i), append(runs, outcomes[i].RunID), append(tokens, outcomes[i].Token)
		}
	}
	if len(open) == 0 {
		return nil
	}
	rows, err := l.pool.Query(ctx, `
		SELECT o.place FROM unnest($1::integer[], $2::text[], $3::text[]) AS o (place, run_id, token)
		JOIN runs r ON r.run_id = o.run_id
		WHERE r.lease_token = o.token AND r.state <> 'running' AND o.token <> ''`, open, runs, tokens)
	if err != nil {
		return err
	}
	before, err := pgx.CollectRows(rows, pgx.RowTo[int])
	for _, i := range before {
		results[i] = ledger.Recorded
	}
	return err
}

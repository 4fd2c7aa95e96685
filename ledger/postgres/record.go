package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// recordSQL writes all outcomes and their attempts at once. Only the holder of
// a lease's token moves a running run. A run's first attempt is kept in its row.
const recordSQL = `
WITH outcome AS (
	SELECT * FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::integer[], $8::bigint[],
			$9::integer[], $10::timestamptz[], $11::timestamptz[], $12::text[], $13::integer[], $14::text[], $15::text[], $16::text[], $17::text[])
		AS o (place, run_id, token, state, reason, replayed, failures, wait,
			n, started_at, finished_at, answer, status, code, error, detail, owner)
), done AS (
	UPDATE runs r SET
		state = o.state, reason = o.reason, replayed = o.replayed,
		failures = CASE WHEN o.state = 'planned' THEN r.failures ELSE o.failures END,
		attempt = CASE WHEN o.state = 'planned' THEN r.attempt - 1 ELSE r.attempt END,
		status = CASE WHEN o.n = 0 THEN r.status ELSE o.status END,
		due_at = CASE WHEN o.state IN ('planned', 'retrying') THEN now() + o.wait * interval '1 microsecond' END,
		finished_at = CASE WHEN o.state NOT IN ('planned', 'retrying') THEN now() END,
		slot = CASE WHEN o.state IN ('planned', 'retrying') THEN r.slot END,
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
	RETURNING o.*
), kept AS (
	INSERT INTO attempts (run_id, n, started_at, finished_at, status, answer, code, error, detail, owner)
	SELECT run_id, n, started_at, finished_at, status, answer, code, error, detail, owner FROM done WHERE n > 1
	ON CONFLICT DO NOTHING
)
SELECT place FROM done`

// Record writes outcomes, each fenced by its lease. Those that the statement
// did not write were either written before, by a try whose answer was lost,
// or come too late: a second look tells, since the first may have waited for
// that other try.
func (l *Ledger) Record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.Fate, error) {
	fates := make([]ledger.Fate, len(outcomes))
	if len(outcomes) == 0 {
		return fates, nil
	}
	columns := columnsOf(outcomes)
	var places []int
	err := again(func() error {
		rows, err := l.pool.Query(ctx, recordSQL, columns.arguments()...)
		if err == nil {
			places, err = pgx.CollectRows(rows, pgx.RowTo[int])
		}
		return err
	})
	if err != nil {
		return nil, translate("record", err)
	}
	for _, i := range places {
		fates[i] = ledger.Recorded
	}
	return fates, translate("record", l.settle(ctx, outcomes, fates))
}

// settle finds the fates of the outcomes that were not written.
func (l *Ledger) settle(ctx context.Context, outcomes []ledger.Outcome, fates []ledger.Fate) error {
	var open []int
	var runs, tokens []string
	for i, f := range fates {
		if f == "" {
			fates[i] = ledger.Late
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
		fates[i] = ledger.Recorded
	}
	return err
}

// columns are outcomes as a statement's parameters, one array a column.
type columns struct {
	places, failures, ns, statuses         []int
	runs, tokens, states, reasons, answers []string
	codes, errs, details, owners           []string
	replayed                               []bool
	waits                                  []int64
	started, finished                      []*time.Time
}

// columnsOf puts the outcomes in the order of their runs' ids, so that two
// records, or a record and an act, lock runs in one order.
func columnsOf(outcomes []ledger.Outcome) *columns {
	places := make([]int, len(outcomes))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(i, k int) int { return cmp.Compare(outcomes[i].RunID, outcomes[k].RunID) })
	c := newColumns(places)
	for _, i := range places {
		c.add(outcomes[i])
	}
	return c
}

func newColumns(places []int) *columns {
	n := len(places)
	return &columns{
		places: places, failures: make([]int, 0, n), ns: make([]int, 0, n), statuses: make([]int, 0, n),
		runs: make([]string, 0, n), tokens: make([]string, 0, n), states: make([]string, 0, n), reasons: make([]string, 0, n),
		answers: make([]string, 0, n), codes: make([]string, 0, n), errs: make([]string, 0, n), details: make([]string, 0, n),
		owners: make([]string, 0, n), replayed: make([]bool, 0, n), waits: make([]int64, 0, n),
		started: make([]*time.Time, 0, n), finished: make([]*time.Time, 0, n),
	}
}

func (c *columns) add(o ledger.Outcome) {
	c.runs, c.tokens = append(c.runs, o.RunID), append(c.tokens, o.Token)
	c.states, c.reasons = append(c.states, string(o.State)), append(c.reasons, string(o.Reason))
	c.replayed, c.failures = append(c.replayed, o.Replayed), append(c.failures, o.Failures)
	c.waits = append(c.waits, microseconds(max(o.Wait, 0)))
	a := o.Attempt
	c.ns, c.statuses = append(c.ns, a.N), append(c.statuses, a.Status)
	c.started, c.finished = append(c.started, null(a.StartedAt)), append(c.finished, null(a.FinishedAt))
	c.answers, c.codes = append(c.answers, string(a.Answer)), append(c.codes, clean(a.Code))
	c.errs, c.details = append(c.errs, clean(a.Error)), append(c.details, clean(a.Detail))
	c.owners = append(c.owners, a.Owner)
}

func (c *columns) arguments() []any {
	return []any{
		c.places, c.runs, c.tokens, c.states, c.reasons, c.replayed, c.failures, c.waits,
		c.ns, c.started, c.finished, c.answers, c.statuses, c.codes, c.errs, c.details, c.owners,
	}
}

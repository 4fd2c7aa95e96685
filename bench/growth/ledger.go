package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// batch is how many jobs there are, and how many runs each operation moves.
const batch = 100

// history is how long before the watermarks the finished runs end, so that
// they and the new ones never meet.
const history = 30 * 24 * time.Hour

// book is a ledger with finished runs.
type book struct {
	*postgres.Ledger
	database string
	runs     int
	stands   []ledger.JobAssignment
	tokens   int
	took     map[string][]time.Duration
}

func openBook(ctx context.Context, d *rig.Databases, runs int) (*book, error) {
	database, err := d.Fresh(ctx, rig.PostgreSQL)
	if err != nil {
		return nil, err
	}
	if err := contenders.Prepare(ctx, database); err != nil {
		return nil, err
	}
	b := &book{database: database, runs: runs, took: map[string][]time.Duration{}}
	if b.Ledger, err = postgres.Open(ctx, database, postgres.PoolSize(2)); err != nil {
		return nil, err
	}
	if err := b.declare(ctx); err != nil {
		return nil, err
	}
	if err := fill(ctx, database, runs); err != nil {
		return nil, err
	}
	if err := resetReads(ctx, database); err != nil {
		return nil, err
	}
	b.stands, err = b.Assignments(ctx, "v1", "")
	return b, err
}

func (b *book) declare(ctx context.Context) error {
	var defs []ledger.Definition
	d := ledger.Declaration{Process: "p", Registry: "bench", Version: "v1"}
	for i := range batch {
		defs = append(defs, ledger.Definition{JobID: jobID(i), Hash: "h", Body: []byte("{}")})
	}
	d.Definitions = slices.Values(defs)
	if err := b.Declare(ctx, d); err != nil {
		return err
	}
	_, err := b.Assignments(ctx, "v1", "")
	return err
}

func jobID(i int) string { return fmt.Sprintf("job-%05d", i) }

// fill writes the finished runs of the 60 days before the history's end: one in
// a hundred dead, one in ten skipped, each with its attempt; and sets the
// watermarks back to where they end.
func fill(ctx context.Context, database string, runs int) error {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	indexes, err := dropIndexes(ctx, c)
	if err != nil {
		return err
	}
	statements := []string{
		`SET synchronous_commit = off`,
		`SET maintenance_work_mem = '512MB'`,
		fmt.Sprintf(`
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, started_at, finished_at, send_before, revision,
			state, reason, trigger, target, attempt, lease_token, leased_by, call, body,
			first_started_at, first_finished_at, first_status, first_answer, first_code, first_error, first_detail, first_owner)
		SELECT job || '@' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), job,
			at, at, at, at, at, 1, state, CASE state WHEN 'dead' THEN 'exhausted' WHEN 'skipped' THEN 'overlap' ELSE '' END,
			'schedule', 'SVC_URL', 1, md5(i::text), 'p', '{"target":"SVC_URL"}', '{}',
			at, at, 200, 'fresh', '', '', '', 'p'
		FROM generate_series(1, %[1]d) i, LATERAL (SELECT 'job-' || lpad((i %% %[2]d)::text, 5, '0') AS job,
			date_trunc('second', now() - interval '%[3]d seconds' - interval '60 days' * (1 - i / %[1]d.0)) AS at,
			CASE WHEN i %% 100 = 0 THEN 'dead' WHEN i %% 10 = 0 THEN 'skipped' ELSE 'succeeded' END AS state) x`,
			runs, batch, int(history.Seconds())),
		fmt.Sprintf(`UPDATE cronce.jobs SET watermark = date_trunc('second', now()) - interval '%d seconds'`, int(history.Seconds())),
	}
	statements = append(statements, indexes...)
	for _, statement := range append(statements, `VACUUM ANALYZE`, `CHECKPOINT`) {
		if _, err := c.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// dropIndexes takes the indexes off the runs, whose filling they slow down
// tenfold, and returns the statements that put them back.
func dropIndexes(ctx context.Context, c *pgx.Conn) ([]string, error) {
	rows, err := c.Query(ctx, `
		SELECT indexname, indexdef FROM pg_indexes
		WHERE schemaname = 'cronce' AND tablename = 'runs' AND indexname <> 'runs_pkey'`)
	if err != nil {
		return nil, err
	}
	var name, definition string
	var names, definitions []string
	_, err = pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		names, definitions = append(names, name), append(definitions, definition)
		return nil
	})
	for _, n := range names {
		if err == nil {
			_, err = c.Exec(ctx, `DROP INDEX cronce.`+n)
		}
	}
	return definitions, err
}

// operations are what a round does, in this order.
var operations = []string{"admit", "claim", "record", "runs list", "runs list of a job", "runs list of the dead"}

// round does every operation once and notes what each took.
func (b *book) round(ctx context.Context) error {
	var work []ledger.Work
	do := map[string]func() error{
		"admit": func() error {
			_, err := b.Admit(ctx, b.admission())
			return err
		},
		"claim": func() error {
			got, err := b.Claim(ctx, ledger.Claim{Owner: "p", Token: b.token(), Limit: batch, LeaseFor: time.Minute})
			if work = got.Work; err == nil && len(work) != batch {
				err = fmt.Errorf("claimed %d of %d", len(work), batch)
			}
			return err
		},
		"record": func() error {
			_, err := b.Record(ctx, outcomes(work))
			return err
		},
		"runs list":          func() error { return b.list(ctx, ledger.Filter{Limit: 100}) },
		"runs list of a job": func() error { return b.list(ctx, ledger.Filter{JobID: jobID(7), Limit: 10}) },
		"runs list of the dead": func() error {
			return b.list(ctx, ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: 10})
		},
	}
	for _, name := range operations {
		start := time.Now()
		if err := do[name](); err != nil {
			return fmt.Errorf("%s with %d runs: %w", name, b.runs, err)
		}
		b.took[name] = append(b.took[name], time.Since(start))
	}
	return nil
}

func (b *book) list(ctx context.Context, f ledger.Filter) error {
	_, err := b.List(ctx, f)
	return err
}

func (b *book) token() string {
	b.tokens++
	return fmt.Sprintf("a-random-token-of-the-usual-size-%06d", b.tokens)
}

// admission plans the next second of every job, as work that waits for a claim.
func (b *book) admission() ledger.Admission {
	a := ledger.Admission{Owner: "p", Token: b.token(), LeaseFor: time.Minute}
	for i := range b.stands {
		s := &b.stands[i]
		at := s.Watermark.Truncate(time.Second).Add(time.Second)
		a.Plans = append(a.Plans, ledger.Plan{
			JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: at,
			Runs: []ledger.RunSpec{{
				RunID: s.JobID + "@" + at.Format(time.RFC3339), ScheduledAt: at, Count: 1, State: ledger.Planned,
				Trigger: ledger.BySchedule, Overlap: ledger.OverlapSkip,
				Call: ledger.Call{Target: "SVC_URL", Method: "POST", Path: "/run", Body: []byte("{}"), Horizon: time.Hour},
			}},
		})
		s.Watermark = at
	}
	return a
}

func outcomes(work []ledger.Work) []ledger.Outcome {
	now := time.Now()
	out := make([]ledger.Outcome, len(work))
	for i, w := range work {
		out[i] = ledger.Outcome{
			Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Succeeded,
			Attempt: ledger.Attempt{N: w.Attempt, StartedAt: now, FinishedAt: now, Status: 200, Answer: ledger.AnswerFresh},
		}
	}
	return out
}

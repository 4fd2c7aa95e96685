package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/bench/contenders"
	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/sqlite"
)

// batch is how many jobs there are, and how many runs each operation moves.
const batch = 100

// history is how long before the watermarks the finished runs end, so that
// they and the new ones never meet.
const history = 30 * 24 * time.Hour

// book is a ledger with finished runs.
type book struct {
	ledger.Store
	database string
	runs     int
	stands   []ledger.JobAssignment
	tokens   int
	purge    ledger.Purge
	took     map[string][]time.Duration
}

func openBook(ctx context.Context, d *rig.Databases, engine rig.Store, runs int) (*book, error) {
	database, err := d.Fresh(ctx, engine)
	if err != nil {
		return nil, err
	}
	b := &book{database: database, runs: runs, took: map[string][]time.Duration{},
		purge: ledger.Purge{Retention: 24 * time.Hour, DeadRetention: 10 * history, Batch: batch}}
	fill := fillSQLite
	if engine == rig.PostgreSQL {
		fill = fillPostgres
		if err := contenders.Prepare(ctx, database); err != nil {
			return nil, err
		}
		b.Store, err = postgres.Open(ctx, database, postgres.PoolSize(2))
	} else {
		b.Store, err = sqlite.Open(ctx, database, sqlite.Options{})
	}
	if err != nil {
		return nil, err
	}
	if err := b.declare(ctx); err != nil {
		return nil, err
	}
	if err := fill(ctx, database, runs); err != nil {
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

// operations are what a round does, in this order.
var operations = []string{"admit", "claim", "record", "purge", "runs list", "runs list of a job", "runs list of the dead"}

// round does every operation once and notes what each took.
func (b *book) round(ctx context.Context) error {
	var work []ledger.Work
	do := map[string]func() error{
		"admit": func() error {
			_, err := b.Admit(ctx, b.admission())
			return err
		},
		"claim": func() error {
			got, err := b.Claim(ctx, ledger.ClaimRequest{Process: "p", Token: b.token(), Limit: batch, LeaseFor: time.Minute})
			if work = got.Work; err == nil && len(work) != batch {
				err = fmt.Errorf("claimed %d of %d", len(work), batch)
			}
			return err
		},
		"record": func() error {
			_, err := b.Record(ctx, outcomes(work))
			return err
		},
		"purge": func() error {
			got, err := b.PurgeRuns(ctx, b.purge)
			b.purge.From.After = got.Next.After // without the rest of the last second
			if err == nil && got.Runs != batch {
				err = fmt.Errorf("purged %d of %d", got.Runs, batch)
			}
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
	a := ledger.Admission{Process: "p", Token: b.token(), LeaseFor: time.Minute}
	for i := range b.stands {
		s := &b.stands[i]
		at := s.Watermark.Truncate(time.Second).Add(time.Second)
		a.Plans = append(a.Plans, ledger.Plan{
			JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: at,
			Runs: []ledger.RunSpec{{
				RunID: s.JobID + "@" + at.Format(time.RFC3339), ScheduledAt: at, Count: 1, State: ledger.Planned,
				Trigger: ledger.BySchedule, Overlap: ledger.OverlapSkip,
				Call: ledger.CallSpec{Target: "SVC_URL", Method: "POST", Path: "/run", Body: []byte("{}"), Horizon: time.Hour},
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

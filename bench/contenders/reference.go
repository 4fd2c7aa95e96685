package contenders

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/bench/rig"
)

// Reference is the least that a durable run can cost on PostgreSQL: one table,
// a claim of 500 in one statement, 32 callers, the outcomes of about 5 ms in one
// UPDATE. It has no retries, leases, fencing or history, so it is a ceiling to
// be measured against, not a program to use.
var Reference = rig.Contender{Name: "reference loop", Store: rig.PostgreSQL, Run: runReference,
	Stored: func(ctx context.Context, database string) (int, error) {
		return countPostgres(ctx, database, `SELECT count(*) FROM work WHERE state = 2`)
	}}

const (
	referenceTable = `
		CREATE TABLE work (id bigserial PRIMARY KEY, job text NOT NULL, at timestamptz NOT NULL,
			state smallint NOT NULL DEFAULT 0, status integer, finished_at timestamptz) WITH (fillfactor = 50);
		CREATE INDEX work_due ON work (id) WHERE state = 0`
	referenceInsert = `INSERT INTO work (job, at) SELECT unnest($1::text[]), $2`
	referenceClaim  = `
		UPDATE work SET state = 1 FROM (SELECT id FROM work WHERE state = 0 ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED) due
		WHERE work.id = due.id RETURNING work.id, job, at`
	referenceRecord = `
		UPDATE work SET state = 2, status = o.status, finished_at = now()
		FROM unnest($1::bigint[], $2::integer[]) o(id, status) WHERE work.id = o.id`
)

// piece is a run between its claim and its record.
type piece struct {
	id     int64
	job    string
	at     time.Time
	status int32
}

type reference struct {
	pool   *pgxpool.Pool
	target *poster
	todo   chan piece
	done   chan piece
}

func runReference(ctx context.Context, t *rig.Task) error {
	pool, err := pgxpool.New(ctx, t.Database)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, referenceTable); err != nil {
		return err
	}
	names := make([]string, t.Runs)
	for i := range names {
		names[i] = fmt.Sprintf("job-%06d", i)
	}
	r := &reference{pool, newPoster(t.Target), make(chan piece, 500), make(chan piece, 500)}
	t.BeginSoon()
	if _, err := pool.Exec(ctx, referenceInsert, names, time.Now()); err != nil {
		return err
	}
	if err := r.work(ctx, t.Runs); err != nil {
		return err
	}
	t.Done(nil)
	<-ctx.Done() // the server's figures are read while its sessions last
	return nil
}

// work claims, calls and records until n outcomes are stored.
func (r *reference) work(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() { r.call(ctx, cancel) })
	}
	group.Go(func() {
		if err := r.claim(ctx); err != nil {
			cancel(err)
		}
	})
	err := r.record(ctx, n)
	if err == nil {
		group.Wait()
	}
	return errors.Join(err, context.Cause(ctx))
}

func (r *reference) claim(ctx context.Context) error {
	defer close(r.todo)
	for {
		rows, err := r.pool.Query(ctx, referenceClaim)
		if err != nil {
			return err
		}
		claimed := 0
		for rows.Next() {
			var p piece
			if err := rows.Scan(&p.id, &p.job, &p.at); err != nil {
				return err
			}
			claimed++
			r.todo <- p
		}
		if err := rows.Err(); err != nil || claimed == 0 {
			return err
		}
	}
}

func (r *reference) call(ctx context.Context, cancel context.CancelCauseFunc) {
	for p := range r.todo {
		status, err := r.target.post(ctx, p.job, p.at)
		if err != nil {
			cancel(err)
			return
		}
		p.status = int32(status)
		r.done <- p
	}
}

func (r *reference) record(ctx context.Context, n int) error {
	flush := time.NewTicker(5 * time.Millisecond)
	defer flush.Stop()
	var ids []int64
	var statuses []int32
	for n > 0 {
		select {
		case <-ctx.Done():
			return nil
		case p := <-r.done:
			ids, statuses = append(ids, p.id), append(statuses, p.status)
		case <-flush.C:
			if len(ids) == 0 {
				continue
			}
			if _, err := r.pool.Exec(ctx, referenceRecord, ids, statuses); err != nil {
				return err
			}
			n -= len(ids)
			ids, statuses = ids[:0], statuses[:0]
		}
	}
	return nil
}

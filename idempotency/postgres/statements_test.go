package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/postgres"
)

func kitsStatements(t *testing.T, p *pgxpool.Pool) int {
	return count(t, p, `SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%idempotency_keys%'`)
}

// tracer counts the batches that it is told of.
type tracer struct{ batches int }

func (r *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (r *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (r *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	r.batches++
	return ctx
}
func (r *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (r *tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func TestATracerHearsOfWhatTheKitSends(t *testing.T) {
	var r tracer
	p := pool(t, database(t), func(c *pgxpool.Config) { c.ConnConfig.Tracer = &r })
	if w := serve(kit(t, p), "k", pay); w.Code != 201 || r.batches != 2 {
		t.Errorf("%d, %d batches, want the opening and the closing one", w.Code, r.batches)
	}
}

// A pooler, or the service, may drop what was prepared: one request fails, with
// its key left free, and the next prepares anew.
func TestDroppedStatementsArePreparedAnew(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	k := kit(t, p)
	serve(k, "first", pay)
	if _, err := p.Exec(t.Context(), `DEALLOCATE ALL`, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	if w := serve(k, "k", pay); w.Code != 503 {
		t.Errorf("without its statements answered %d", w.Code)
	}
	if w := serve(k, "k", pay); w.Code != 201 || w.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("then answered %d %s", w.Code, w.Body)
	}
}

// Somebody made a column of the table another type that holds the same.
func TestAnotherColumnTypeIsLeftToPgx(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	must(t, p, `ALTER TABLE accounting.idempotency_keys ALTER response_status TYPE bigint, ALTER response_headers TYPE json`)
	for _, key := range []string{"a", "a", "b"} {
		if w := serve(kit(t, p), key, pay); w.Code != 201 || w.Body.String() != "paid" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// The work's savepoints work in the second transaction of a connection as in
// its first, and after one that ended badly.
func TestSavepointsInEveryTransactionOfAConnection(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	k := kit(t, p)
	for _, key := range []string{"a", "b", "c"} {
		_, err := k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error {
			if key == "b" {
				_, err := postgres.Tx(ctx).Exec(ctx, `ROLLBACK`)
				return err
			}
			return pgx.BeginFunc(ctx, postgres.Tx(ctx), func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO effects VALUES ('paid')`)
				return err
			})
		})
		if (err != nil) != (key == "b") {
			t.Error(key, err)
		}
	}
	if n := effects(t, p); n != 2 {
		t.Errorf("%d effects", n)
	}
}

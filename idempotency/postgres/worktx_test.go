package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/postgres"
)

// What a goroutine of the work kept must not write into the transaction of the
// next caller, which has the same connection.
func TestNothingOfATransactionOutlivesItsWork(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	for _, status := range []int{http.StatusCreated, http.StatusInternalServerError} {
		ctx := context.Background()
		var child, grandchild pgx.Tx
		var large pgx.LargeObjects
		var object *pgx.LargeObject
		var rows pgx.Rows
		k := kit(t, p)
		serve(k, fmt.Sprint("first-", status), func(w http.ResponseWriter, r *http.Request) {
			err := func() (err error) {
				if child, err = postgres.Tx(r.Context()).Begin(ctx); err != nil {
					return err
				}
				if grandchild, err = child.Begin(ctx); err != nil {
					return err
				}
				large = child.LargeObjects()
				oid, err := large.Create(ctx, 0)
				if err != nil {
					return err
				}
				if object, err = large.Open(ctx, oid, pgx.LargeObjectModeWrite); err != nil {
					return err
				}
				rows, err = grandchild.Query(ctx, `SELECT generate_series(1, 100000)`)
				return err
			}()
			if err != nil || !rows.Next() {
				t.Error(err)
			}
			w.WriteHeader(status)
		})
		serve(k, fmt.Sprint("second-", status), func(w http.ResponseWriter, r *http.Request) {
			for _, tx := range []pgx.Tx{child, grandchild} {
				_, exec := tx.Exec(ctx, `INSERT INTO effects VALUES ('stray')`)
				_, query := tx.Query(ctx, `SELECT 1`)
				_, begin := tx.Begin(ctx)
				_, prepare := tx.Prepare(ctx, "stray", `SELECT 1`)
				_, copied := tx.CopyFrom(ctx, pgx.Identifier{"effects"}, []string{"name"}, pgx.CopyFromRows([][]any{{"stray"}}))
				var b pgx.Batch
				b.Queue(`INSERT INTO effects VALUES ('stray')`)
				for name, err := range map[string]error{
					"Exec": exec, "Query": query, "Begin": begin, "Prepare": prepare, "CopyFrom": copied,
					"QueryRow": tx.QueryRow(ctx, `SELECT 1`).Scan(new(int)), "SendBatch": tx.SendBatch(ctx, &b).Close(),
					"Commit": tx.Commit(ctx), "Rollback": tx.Rollback(ctx),
				} {
					if !errors.Is(err, pgx.ErrTxClosed) {
						t.Errorf("%s after the work: %v", name, err)
					}
				}
			}
			if _, err := large.Create(ctx, 0); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("a large object is made after the work: %v", err)
			}
			if _, err := object.Write([]byte("stray")); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("a large object is written after the work: %v", err)
			}
			if rows.Next() {
				t.Error("rows are open after the work")
			}
			pay(w, r)
		})
	}
	if n := effects(t, p); n != 2 {
		t.Errorf("%d effects", n)
	}
}

func TestWhatAHandlerLeavesOpenIsClosed(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	many := `SELECT generate_series(1, 100000)`
	for name, leave := range map[string]func(pgx.Tx) error{
		"rows": func(tx pgx.Tx) error {
			rows, err := tx.Query(context.Background(), many)
			rows.Next()
			return err
		},
		"a row": func(tx pgx.Tx) error { tx.QueryRow(context.Background(), many); return nil },
		"a batch": func(tx pgx.Tx) error {
			var b pgx.Batch
			b.Queue(many)
			b.Queue(many)
			_, err := tx.SendBatch(context.Background(), &b).Query()
			return err
		},
	} {
		for n, status := range []int{500, 201} {
			w := serve(kit(t, p), strings.ReplaceAll(name, " ", "-"), func(w http.ResponseWriter, r *http.Request) {
				if err := leave(postgres.Tx(r.Context())); err != nil {
					t.Error(name, err)
				}
				w.WriteHeader(status)
			})
			if w.Code != status {
				t.Errorf("%s: call %d was answered %d %s", name, n, w.Code, w.Body)
			}
		}
	}
	if n := p.Stat().NewConnsCount(); n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}

// A goroutine that goes on while the kit ends the transaction loses it.
func TestAGoroutineThatStillRunsAStatementRollsTheWorkBack(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.MaxConns = 2 })
	done := make(chan error, 1)
	w := serve(kit(t, p), "k", func(w http.ResponseWriter, r *http.Request) {
		tx := postgres.Tx(r.Context())
		go func() {
			_, err := tx.Exec(context.Background(), `INSERT INTO effects SELECT 'stray' FROM pg_sleep(600)`)
			done <- err
		}()
		for count(t, p, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()`) == 0 {
			must(t, p, `SELECT pg_sleep(0.01)`)
		}
		w.WriteHeader(http.StatusCreated)
	})
	if err := <-done; w.Code != http.StatusServiceUnavailable || err == nil {
		t.Errorf("answered %d %s, the goroutine's error is %v", w.Code, w.Body, err)
	}
}

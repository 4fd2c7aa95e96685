package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
)

// BenchmarkHandler compares one insert behind the kit with the same insert in a
// bare transaction, and in one with a key table as it is usually written. The
// three take turns, since machines drift; the ratios are what counts.
func BenchmarkHandler(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			p := pool(b, database(b), func(c *pgxpool.Config) { c.MaxConns = 16 })
			must(b, p, `CREATE TABLE naive (key text PRIMARY KEY, state text NOT NULL, body bytea)`)
			protected := kit(b, p).Handler(idempotency.Route{Scope: scope}, http.HandlerFunc(pay))
			handlers := []http.Handler{bare(p), naive(p), protected}
			took := make([]time.Duration, len(handlers))
			var key atomic.Int64
			const turn = 200
			for range b.N {
				for i, h := range handlers {
					took[i] += requests(b, h, callers, turn, func() string { return fmt.Sprint("k", key.Add(1)) })
				}
			}
			total := float64(b.N * turn)
			b.ReportMetric(total/took[0].Seconds(), "bare/s")
			b.ReportMetric(total/took[2].Seconds(), "kit/s")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "naive:bare")
			b.ReportMetric(took[0].Seconds()/took[2].Seconds(), "kit:bare")
		})
	}
}

// BenchmarkReplay has 64 callers ask for one key that is done.
func BenchmarkReplay(b *testing.B) {
	p := pool(b, database(b), func(c *pgxpool.Config) { c.MaxConns = 16 })
	h := kit(b, p).Handler(idempotency.Route{Scope: scope}, http.HandlerFunc(pay))
	hot := func() string { return "hot" }
	requests(b, h, 1, 1, hot)
	const turn = 2000
	var took time.Duration
	for b.Loop() {
		took += requests(b, h, 64, turn, hot)
	}
	b.ReportMetric(float64(b.N*turn)/took.Seconds(), "replays/s")
}

// requests makes n requests from a number of callers.
func requests(b *testing.B, h http.Handler, callers, n int, key func() string) time.Duration {
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	start := time.Now()
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				r := httptest.NewRequest("POST", "/pay", strings.NewReader(`{"amount":100}`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Idempotency-Key", key())
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != 201 {
					b.Error(w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

func bare(p *pgxpool.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := pgx.BeginFunc(r.Context(), p, func(tx pgx.Tx) error {
			_, err := tx.Exec(r.Context(), `INSERT INTO effects VALUES ('paid')`)
			return err
		})
		answer(w, err)
	})
}

func naive(p *pgxpool.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ctx := r.Header.Get("Idempotency-Key"), r.Context()
		answer(w, pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error { return naively(ctx, tx, key) }))
	})
}

func naively(ctx context.Context, tx pgx.Tx, key string) error {
	var body []byte
	if err := tx.QueryRow(ctx, `SELECT body FROM naive WHERE key = $1`, key).Scan(&body); !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	for _, statement := range []string{
		`INSERT INTO naive (key, state) VALUES ($1, 'running')`,
		`INSERT INTO effects SELECT 'paid' WHERE $1 <> ''`,
		`UPDATE naive SET state = 'done', body = 'paid' WHERE key = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, key); err != nil {
			return err
		}
	}
	return nil
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, "paid")
}

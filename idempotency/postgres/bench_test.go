package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/testdb"
)

// BenchmarkHandler compares one insert behind the kit with the same insert in a
// bare transaction, and in one with a key table as it is usually written: each
// behind its own HTTP server, on one pool, on a server that keeps what it
// commits. An iteration is one round, in which the three take turns, since
// machines drift; the ratios are the medians of the rounds.
func BenchmarkHandler(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			p := durable(b)
			must(b, p, `CREATE TABLE naive (key text PRIMARY KEY, state text NOT NULL, body bytea)`)
			protected := kit(b, p).Handler(idempotency.Route{Scope: scope}, http.HandlerFunc(pay))
			var ways []*client
			for _, h := range []http.Handler{bare(p), naive(p), protected} {
				ways = append(ways, newClient(b, h, callers))
			}
			const turn = 400
			for _, w := range ways {
				w.requests(turn, fresh) // opens connections, prepares statements
			}
			rates, costs := make([][]float64, len(ways)), make([]cost, len(ways))
			m := newMeter(b, p)
			b.ResetTimer()
			for range b.N {
				for i, w := range ways {
					before := m.read(b)
					rates[i] = append(rates[i], w.requests(turn, fresh))
					costs[i] = costs[i].plus(m.read(b).minus(before))
				}
			}
			costs[0].report(b, "bare", b.N*turn)
			costs[1].report(b, "naive", b.N*turn)
			costs[2].report(b, "kit", b.N*turn)
			b.ReportMetric(median(rates[0]), "bare/s")
			b.ReportMetric(median(rates[2]), "kit/s")
			b.ReportMetric(median(ratios(rates[1], rates[0])), "naive:bare")
			b.ReportMetric(median(ratios(rates[2], rates[0])), "kit:bare")
		})
	}
}

// BenchmarkReplay has 64 callers ask for one key that is done, without a network
// between them and the kit.
func BenchmarkReplay(b *testing.B) {
	h := kit(b, durable(b)).Handler(idempotency.Route{Scope: scope}, http.HandlerFunc(pay))
	hot := func() string { return "hot" }
	h.ServeHTTP(httptest.NewRecorder(), request("/pay", hot()))
	var rates []float64
	b.ResetTimer()
	for range b.N {
		rates = append(rates, perSecond(64, 2000, func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request("/pay", hot()))
			if w.Code != http.StatusCreated {
				b.Error(w.Code, w.Body)
			}
		}))
	}
	b.ReportMetric(median(rates), "replays/s")
}

// durable is a pool of 16 on a server that syncs its commits.
func durable(b *testing.B) *pgxpool.Pool {
	url, err := testdb.PostgresServer(b).Create("bench")
	if err != nil {
		b.Fatal(err)
	}
	migrate(b, url)
	return pool(b, url, func(c *pgxpool.Config) { c.MaxConns = 16 })
}

// client makes requests to a server of its own.
type client struct {
	b       *testing.B
	http    *http.Client
	url     string
	callers int
}

func newClient(b *testing.B, h http.Handler, callers int) *client {
	server := httptest.NewServer(h)
	b.Cleanup(server.Close)
	server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = callers
	return &client{b, server.Client(), server.URL + "/pay", callers}
}

// requests makes n of them and returns how many a second there were.
func (c *client) requests(n int, key func() string) float64 {
	return perSecond(c.callers, n, func() {
		r, err := c.http.Do(request(c.url, key()))
		if err != nil {
			c.b.Error(err)
			return
		}
		body, err := io.ReadAll(r.Body)
		if r.Body.Close(); err != nil || r.StatusCode != http.StatusCreated || string(body) != "paid" {
			c.b.Error(r.Status, string(body), err)
		}
	})
}

func perSecond(callers, n int, do func()) float64 {
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	start := time.Now()
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				do()
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(start).Seconds()
}

var lastKey atomic.Int64

func fresh() string { return fmt.Sprint("k", lastKey.Add(1)) }

func request(url, key string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(`{"amount":100}`))
	r.RequestURI = "" // a client's request
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return r
}

func ratios(of, to []float64) []float64 {
	r := make([]float64, len(of))
	for i := range of {
		r[i] = of[i] / to[i]
	}
	return r
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

func bare(p *pgxpool.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		if err == nil {
			err = pgx.BeginFunc(r.Context(), p, func(tx pgx.Tx) error {
				_, err := tx.Exec(r.Context(), `INSERT INTO effects VALUES ('paid')`)
				return err
			})
		}
		answer(w, err)
	})
}

func naive(p *pgxpool.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ctx := r.Header.Get("Idempotency-Key"), r.Context()
		_, err := io.ReadAll(r.Body)
		if err == nil {
			err = pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error { return naively(ctx, tx, key) })
		}
		answer(w, err)
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

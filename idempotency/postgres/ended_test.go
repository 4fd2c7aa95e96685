package postgres_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

// What the work has committed behind the kit's back is not done again, even if
// its last transaction has failed or its connection is lost, so that neither
// can tell.
func TestWorkThatCommitsAndFailsInAnotherTransactionUsesTheKeyUp(t *testing.T) {
	url := database(t)
	for _, ends := range []string{`COMMIT AND CHAIN; SELECT 1`, `COMMIT; BEGIN; SELECT 1`} {
		for _, then := range []string{`SELECT 1/0`, `SELECT pg_sleep(60)`} {
			for _, status := range []int{200, 500} {
				key := strconv.Itoa(len(ends)) + strconv.Itoa(len(then)) + strconv.Itoa(status)
				t.Run(key, func(t *testing.T) {
					t.Parallel() // the kit ends the long ones at MaxRun
					p := pool(t, url)
					k := kit(t, p, func(o *idempotency.Options) { o.MaxRun = time.Second })
					h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						ctx, tx := r.Context(), postgres.Tx(r.Context())
						_, err := tx.Exec(ctx, `INSERT INTO effects VALUES ($1)`, key)
						if err == nil {
							_, err = tx.Exec(ctx, ends)
						}
						if err != nil {
							t.Error(err)
						}
						_, _ = tx.Exec(ctx, then)
						w.WriteHeader(status)
					})
					for range 3 {
						if w := serve(k, key, h); w.Code != http.StatusInternalServerError {
							t.Errorf("%s %s: %d %s", ends, then, w.Code, w.Body)
						}
					}
					if n := count(t, p, `SELECT count(*) FROM effects WHERE name = $1`, key); n != 1 {
						t.Errorf("%s %s: %d effects", ends, then, n)
					}
				})
			}
		}
	}
}

// PostgreSQL only warns of a BEGIN in a transaction. One after a ROLLBACK begins another, and
// what was written in between stands.
func TestABeginOfTheWorkUsesTheKeyUpOnlyIfItBeginsATransaction(t *testing.T) {
	p := pool(t, database(t))
	for key, before := range map[string][]string{
		"free":    nil,
		"used-up": {`ROLLBACK`, `INSERT INTO effects VALUES ('once')`},
	} {
		k := kit(t, p)
		work := func(w http.ResponseWriter, r *http.Request) {
			for _, sql := range append(before, `BEGIN`) {
				if _, err := postgres.Tx(r.Context()).Exec(r.Context(), sql); err != nil {
					t.Error(err)
				}
			}
			_, _ = postgres.Tx(r.Context()).Exec(r.Context(), `SELECT 1/0`)
			w.WriteHeader(http.StatusConflict)
		}
		want := map[string]int{"free": http.StatusConflict, "used-up": http.StatusInternalServerError}[key]
		for range 2 {
			if w := serve(k, key, work); w.Code != want {
				t.Errorf("%s: %d %s", key, w.Code, w.Body)
			}
		}
	}
	if n := effects(t, p); n != 1 {
		t.Errorf("%d effects", n)
	}
}

// A new transaction that a ROLLBACK, or a COMMIT after a failure, chains on is not the kit's:
// what the work commits from it is not done again.
func TestWorkThatCommitsFromAChainedTransactionUsesTheKeyUp(t *testing.T) {
	p := pool(t, database(t))
	for n, before := range [][]string{{`ROLLBACK AND CHAIN`}, {`SELECT 1/0`, `COMMIT AND CHAIN`}} {
		must(t, p, `TRUNCATE effects`)
		k := kit(t, p)
		work := func(w http.ResponseWriter, r *http.Request) {
			for _, sql := range append(before, `INSERT INTO effects VALUES ('once')`, `COMMIT; BEGIN`, `SELECT 1/0`) {
				_, _ = postgres.Tx(r.Context()).Exec(r.Context(), sql)
			}
			w.WriteHeader(http.StatusConflict)
		}
		for range 2 {
			if w := serve(k, strconv.Itoa(n), work); w.Code != http.StatusInternalServerError {
				t.Errorf("%q: %d %s", before, w.Code, w.Body)
			}
		}
		if n := effects(t, p); n != 1 {
			t.Errorf("%q: %d effects", before, n)
		}
	}
}

// Joined work that commits uses the key up, even if it sets a savepoint of the same name.
func TestJoinedWorkThatCommitsUsesTheKeyUp(t *testing.T) {
	p := pool(t, database(t))
	s := postgres.New(p, options)
	k, err := idempotency.New(s, idempotency.Options{Principal: idempotency.SinglePrincipal("caller")})
	fatal(t, err)
	for range 2 {
		tx, err := p.Begin(t.Context())
		fatal(t, err)
		_, err = k.Do(s.WithTx(t.Context(), tx), scope, "k", nil, func(ctx context.Context) error {
			for _, sql := range []string{`INSERT INTO effects VALUES ('once')`, `COMMIT`, `BEGIN`, `SAVEPOINT idempotent_work`, `SELECT 1/0`} {
				_, _ = postgres.Tx(ctx).Exec(ctx, sql)
			}
			return errors.New("no luck")
		})
		_ = tx.Rollback(t.Context())
		if !errors.Is(err, idempotency.ErrTxEnded) {
			t.Error(err)
		}
	}
	if n := effects(t, p); n != 1 {
		t.Errorf("%d effects", n)
	}
}

package postgres_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

// Two withdrawals that each see enough in both accounts take more than there is,
// unless the work is serializable.
func TestSerializableWorkIsRunAgainAfterAConflict(t *testing.T) {
	for _, level := range []pgx.TxIsoLevel{"", pgx.Serializable} {
		p := pool(t, database(t))
		must(t, p, `CREATE TABLE accounts (name text PRIMARY KEY, balance int)`)
		must(t, p, `INSERT INTO accounts VALUES ('a', 100), ('b', 100)`)
		o := options
		o.Isolation = level
		k, err := idempotency.New(postgres.New(p, o), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		var both, all sync.WaitGroup
		both.Add(2)
		withdraw := func(name string) http.HandlerFunc {
			first := true
			return func(w http.ResponseWriter, r *http.Request) {
				ctx, tx := r.Context(), postgres.Tx(r.Context())
				var sum int
				err := tx.QueryRow(ctx, `SELECT sum(balance) FROM accounts`).Scan(&sum)
				if first {
					first = false
					both.Done()
					both.Wait()
				}
				if err == nil && sum < 200 {
					w.WriteHeader(http.StatusUnprocessableEntity)
					return
				}
				if err == nil {
					_, err = tx.Exec(ctx, `UPDATE accounts SET balance = balance - 200 WHERE name = $1`, name)
				}
				if err != nil { // as handlers do; the kit knows why
					w.WriteHeader(http.StatusInternalServerError)
				}
			}
		}
		var mu sync.Mutex
		codes := map[int]int{}
		for _, name := range []string{"a", "b"} {
			all.Go(func() {
				w := serve(k, name, withdraw(name))
				mu.Lock()
				defer mu.Unlock()
				codes[w.Code]++
			})
		}
		all.Wait()
		want, sum := "map[200:1 422:1]", 0
		if level == "" {
			want, sum = "map[200:2]", -200
		}
		if got := count(t, p, `SELECT sum(balance) FROM accounts`); got != sum || fmt.Sprint(codes) != want {
			t.Errorf("%q: %d left, answered %v", level, got, codes)
		}
	}
}

// A look-up in a snapshot may miss who was first; the key's row is then in the
// way, and its reply counts.
func TestDuplicatesOfStricterWorkHaveOneEffect(t *testing.T) {
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		url := database(t)
		o := options
		o.Isolation = level
		var kits []*idempotency.Kit
		for range 2 {
			k, err := idempotency.New(postgres.New(pool(t, url), o), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
			if err != nil {
				t.Fatal(err)
			}
			kits = append(kits, k)
		}
		const keys = 10
		var all sync.WaitGroup
		for i := range keys * 8 {
			all.Go(func() {
				if w := serve(kits[i%2], fmt.Sprint("k", i/8), pay); w.Code != http.StatusCreated {
					t.Errorf("answered %d %s", w.Code, w.Body)
				}
			})
		}
		all.Wait()
		p := pool(t, url)
		if n := effects(t, p); n != keys {
			t.Errorf("%s: %d effects of %d keys", level, n, keys)
		}
	}
}

func TestAConflictThatDoesNotPassIsAnswered(t *testing.T) {
	p := pool(t, database(t))
	o := options
	o.Isolation = pgx.RepeatableRead
	k, err := idempotency.New(postgres.New(p, o), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	w := serve(k, "k", func(w http.ResponseWriter, r *http.Request) {
		runs++
		_, err := postgres.Tx(r.Context()).Exec(context.Background(), `DO $$ BEGIN RAISE serialization_failure; END $$`)
		if err == nil {
			t.Error("no conflict")
		}
	})
	if w.Code != http.StatusInternalServerError || runs != 10 {
		t.Errorf("answered %d %s after %d runs", w.Code, w.Body, runs)
	}
	if w := serve(k, "k", pay); w.Code != http.StatusCreated {
		t.Errorf("then answered %d %s", w.Code, w.Body)
	}
}

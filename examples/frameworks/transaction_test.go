package frameworks

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

// transactions is a service on PostgreSQL whose middleware opens transactions.
func transactions(t *testing.T) (*pgxpool.Pool, *postgres.Store, *idempotency.Kit) {
	t.Helper()
	url := testdb.Postgres(t)
	db, err := sql.Open("pgx", url)
	check(t, err)
	defer db.Close()
	err = pgsql.New(db, pgsql.Options{}).CreateTable(t.Context())
	check(t, err)
	_, err = db.Exec(`CREATE TABLE payments (id serial PRIMARY KEY, amount int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
	check(t, err)
	pool, err := pgxpool.New(context.Background(), url)
	check(t, err)
	t.Cleanup(pool.Close)
	store := postgres.New(pool, postgres.Options{})
	kit, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("-"), Wait: time.Minute, StoreTimeout: time.Minute})
	check(t, err)
	return pool, store, kit
}

func order(h http.Handler, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/payments", strings.NewReader(body))
	r.Header.Set(idempotency.HeaderKey, key)
	r.SetBasicAuth("alice", "")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantAmounts(t *testing.T, pool *pgxpool.Pool, want int) {
	t.Helper()
	var got int
	check(t, pool.QueryRow(context.Background(), `SELECT count(*) FROM payments`).Scan(&got))
	if got != want {
		t.Errorf("%d payments, want %d", got, want)
	}
}

func TestDoInATransactionOfTheServicesOwn(t *testing.T) {
	pool, store, kit := transactions(t)
	h := InTransaction(pool, store, Pay(kit))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if w := order(h, "order-1", `{"amount":100}`); w.Code != 200 || w.Body.String() != `{"id":1,"amount":100}`+"\n" {
				t.Errorf("answered %d %q", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	for _, c := range []struct {
		key, body string
		status    int
	}{
		{"order-1", `{"amount":101}`, 409}, // another payload
		{"order-2", `{"amount":0}`, 422},   // final, and stored
		{"order-2", `{"amount":0}`, 422},
		{"order-2", `{"amount":5}`, 409},
		{"two words", `{"amount":5}`, 400},
		{"order-3", `{"amount":100}`, 500}, // refused by the deferred constraint at the commit: no reply but this
		{"order-3", `{"amount":200}`, 200}, // the key went with it
	} {
		if w := order(h, c.key, c.body); w.Code != c.status {
			t.Errorf("%s %s: answered %d %q, want %d", c.key, c.body, w.Code, w.Body, c.status)
		}
	}
	wantAmounts(t, pool, 2)
}

// It would reply before the service's commit.
func TestHandlerInATransactionOfTheServicesOwnIsRefused(t *testing.T) {
	pool, store, kit := transactions(t)
	handler := kit.Handler(idempotency.Route{Scope: "payments"}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := postgres.Tx(r.Context()).Exec(r.Context(), `INSERT INTO payments (amount) VALUES (1)`)
		check(t, err)
	}))
	middleware := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tx, err := pool.Begin(r.Context())
		check(t, err)
		handler.ServeHTTP(w, r.WithContext(store.WithTx(r.Context(), tx)))
		check(t, tx.Commit(r.Context()))
	})
	if w := order(middleware, "order-1", ""); w.Code != 500 || !strings.Contains(w.Body.String(), idempotency.CodeMisplaced) {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
	wantAmounts(t, pool, 0)
}

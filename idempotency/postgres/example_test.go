package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

// newService returns a service with one route. The insert of the handler, the key and the reply are
// one transaction.
func newService(ctx context.Context, pool *pgxpool.Pool) (http.Handler, error) {
	store := postgres.New(pool, postgres.Options{})
	if err := store.CreateTable(ctx); err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS payments (amount bigint)`); err != nil {
		return nil, err
	}
	kit, err := idempotency.New(store, idempotency.Options{Principal: account})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/payments", kit.Handler(idempotency.Route{}, http.HandlerFunc(insertPayment)))
	return mux, nil
}

// account returns the authenticated caller. A service checks the password too.
func account(r *http.Request) (string, error) {
	user, _, ok := r.BasicAuth()
	if !ok {
		return "", errors.New("not logged in")
	}
	return user, nil
}

func insertPayment(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if _, err := postgres.Tx(ctx).Exec(ctx, `INSERT INTO payments VALUES (100)`); err != nil {
		http.Error(w, "try again", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, "paid")
}

func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	service, err := newService(ctx, pool)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:8080", service))
}

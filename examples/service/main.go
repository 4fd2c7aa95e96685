// Command service takes payments, each once for each Idempotency-Key.
package main

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
)

func main() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	check(err)
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", service(context.Background(), db)))
}

func service(ctx context.Context, db *sql.DB) http.Handler {
	store := pgsql.New(db, pgsql.Options{})
	check(store.CreateTable(ctx))
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS payments (account text NOT NULL, cents bigint NOT NULL)`)
	check(err)
	kit, err := idempotency.New(store, idempotency.Options{Principal: account})
	check(err)
	check(kit.Ready(ctx)) // checks the table and the role's privileges now, not at the first call
	mux := http.NewServeMux()
	mux.Handle("POST /v1/payments", kit.Handler(idempotency.Route{}, http.HandlerFunc(pay)))
	return mux
}

// account authenticates the caller and returns its account, which owns the key.
func account(r *http.Request) (string, error) {
	name, password, _ := r.BasicAuth()
	want := os.Getenv("ALICE_PASSWORD")
	if name != "alice" || want == "" || subtle.ConstantTimeCompare([]byte(password), []byte(want)) != 1 {
		return "", errors.New("the account or its password is wrong")
	}
	return name, nil
}

// pay stores a payment. The kit commits it together with the key and the reply;
// on a status of 400 or more it rolls the payment back.
func pay(w http.ResponseWriter, r *http.Request) {
	var order struct{ Cents int64 }
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil || order.Cents <= 0 {
		http.Error(w, `send {"cents": 100}`, http.StatusBadRequest)
		return
	}
	name, _, _ := r.BasicAuth()
	_, err := pgsql.Tx(r.Context()).ExecContext(r.Context(), `INSERT INTO payments VALUES ($1, $2)`, name, order.Cents)
	if err != nil {
		http.Error(w, "the payment was not stored; try again", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

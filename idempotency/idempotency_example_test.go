package idempotency_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// A service with one route. The handler's insert, the key and the reply are
// one transaction; the second request is answered from the key.
func Example() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(filepath.Join(dir, "service.db"))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	ctx := context.Background()
	if err := sqlite.New(db, sqlite.Options{}).CreateTable(ctx); err != nil {
		panic(err)
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE payments (amount INTEGER)`); err != nil {
		panic(err)
	}

	kit, err := idempotency.New(sqlite.New(db, sqlite.Options{}), idempotency.Options{
		Principal: func(r *http.Request) (string, error) {
			user, _, ok := r.BasicAuth() // checked by whatever stands before
			if !ok {
				return "", fmt.Errorf("not logged in")
			}
			return user, nil
		},
	})
	if err != nil {
		panic(err)
	}
	pay := func(w http.ResponseWriter, r *http.Request) {
		if _, err := sqlite.Tx(r.Context()).ExecContext(r.Context(), `INSERT INTO payments VALUES (100)`); err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "paid")
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/payments", kit.Handler(idempotency.Route{}, http.HandlerFunc(pay)))

	for range 2 {
		r := httptest.NewRequest("POST", "/v1/payments", strings.NewReader(`{"amount":100}`))
		r.Header.Set("Idempotency-Key", "order-1")
		r.SetBasicAuth("alice", "")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%d %s replayed=%q\n", w.Code, w.Body, w.Header().Get("Idempotent-Replayed"))
	}
	var payments int
	db.QueryRow(`SELECT count(*) FROM payments`).Scan(&payments)
	fmt.Println("payments:", payments)
	// Output:
	// 201 paid replayed=""
	// 201 paid replayed="true"
	// payments: 1
}

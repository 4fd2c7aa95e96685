// Package orm shows handlers that write in the kit's transaction through GORM,
// bun and code in the form of sqlc, on PostgreSQL through database/sql. Each
// takes the *sql.Tx of pgsql.Tx(ctx).
package orm

import (
	"context"
	"encoding/json"
	"net/http"
)

// Payment is a row of the service's table payments.
type Payment struct {
	ID      int64  `json:"id" bun:",pk,autoincrement"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

// Insert stores a payment in the kit's transaction and sets its ID.
type Insert func(context.Context, *Payment) error

// Pay answers with the stored payment. On an error the kit rolls the row back
// and leaves the key free.
func Pay(insert Insert) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var p Payment
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := insert(r.Context(), &p); err != nil {
			http.Error(w, "the payment was not stored", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(p)
	}
}

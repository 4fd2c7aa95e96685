package frameworks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

// Endpoint answers a request with a value that becomes JSON, inside the
// transaction of [InTransaction].
type Endpoint func(context.Context, *http.Request) (any, error)

// InTransaction is middleware as many services have it: it opens a transaction
// for each request, commits it if the endpoint succeeds, and replies after the
// commit. The kit joins the transaction by store.WithTx.
//
// A final error is committed too: it is stored, and the kit has rolled back the
// work that returned it.
func InTransaction(pool *pgxpool.Pool, store *postgres.Store, endpoint Endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var reply any
		var final *idempotency.FinalError
		err := pgx.BeginFunc(r.Context(), pool, func(tx pgx.Tx) (err error) {
			reply, err = endpoint(store.WithTx(r.Context(), tx), r)
			if errors.As(err, &final) {
				return nil
			}
			return err
		})
		switch {
		case err != nil:
			http.Error(w, http.StatusText(statusOf(err)), statusOf(err))
		case final != nil:
			http.Error(w, final.Error(), http.StatusUnprocessableEntity)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(reply)
		}
	})
}

// statusOf tells apart what the kit returns for calls that did no work.
func statusOf(err error) int {
	switch {
	case errors.Is(err, idempotency.ErrInvalidKey):
		return http.StatusBadRequest
	case errors.Is(err, idempotency.ErrMismatch), errors.Is(err, idempotency.ErrInProgress):
		return http.StatusConflict
	case errors.Is(err, idempotency.ErrUnavailable):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Payment is a reply of [Pay].
type Payment struct {
	ID     int `json:"id"`
	Amount int `json:"amount"`
}

// Pay is an endpoint that does its work once for each key. Kit.Handler would
// refuse the request here, since it would reply before the commit.
func Pay(kit *idempotency.Kit) Endpoint {
	return func(ctx context.Context, r *http.Request) (any, error) {
		var order struct{ Amount int }
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			return nil, fmt.Errorf("the order is not JSON: %w", err)
		}
		key, err := idempotency.ParseKey(r.Header.Get(idempotency.HeaderKey))
		if err != nil {
			return nil, err
		}
		payment, _, err := idempotency.Do(ctx, kit, idempotency.Operation{
			Scope: idempotency.RouteScope("POST", "/v1/payments"), Principal: accountOf(r), Key: key, Payload: order,
		}, func(ctx context.Context) (Payment, error) {
			p := Payment{Amount: order.Amount}
			err := postgres.Tx(ctx).QueryRow(ctx, `INSERT INTO payments (amount) VALUES ($1) RETURNING id`, order.Amount).Scan(&p.ID)
			if order.Amount <= 0 {
				return p, idempotency.Final(errors.New("the amount must be positive"))
			}
			return p, err
		})
		return payment, err
	}
}

// accountOf is the caller, as the authentication before has proved it.
func accountOf(r *http.Request) string {
	account, _, _ := r.BasicAuth()
	return account
}

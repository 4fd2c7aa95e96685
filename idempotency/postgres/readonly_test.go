package postgres_test

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/postgres"
)

const readOnly = "default_transaction_read_only"

// A service may let its own transactions be read only unless they say.
func TestTheRolesDefaultOfReadOnlyDoesNotMatter(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams[readOnly] = "on" })
	if w := serve(kit(t, p), "k", pay); w.Code != http.StatusCreated {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

// Nor does it for what each method of a store writes.
func TestContractWhereTransactionsAreReadOnlyByDefault(t *testing.T) {
	contract(t, func(url string) string { return with(url, readOnly, "on") })
}

// Neither does it matter when it changes on a connection that is ready.
func TestASessionThatBecomesReadOnlyDoesNotMatter(t *testing.T) {
	p := pool(t, database(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	k := kit(t, p)
	for _, key := range []string{"a", "b"} {
		w := serve(k, key, func(w http.ResponseWriter, r *http.Request) {
			if _, err := postgres.Tx(r.Context()).Exec(r.Context(), `SET default_transaction_read_only = on`); err != nil {
				t.Error(err)
			}
			pay(w, r)
		})
		if w.Code != http.StatusCreated {
			t.Errorf("%s: answered %d %s", key, w.Code, w.Body)
		}
	}
}

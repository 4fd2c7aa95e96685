package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

// TestItTellsALifeAsTheLedgerInMemoryDoes holds the statements against the
// plainest reading of the contract.
func TestItTellsALifeAsTheLedgerInMemoryDoes(t *testing.T) {
	url := testdb.Postgres(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("life ", seed), func(t *testing.T) {
			schema := fmt.Sprintf("life_%d", seed)
			options := []postgres.Option{postgres.Schema(schema), setClock(t, url, schema)}
			_, err := migrate.Up(t.Context(), url, options...)
			must(t, err)
			m := memory.New()
			ledgertest.Alike(t, seed, 60,
				ledgertest.Opened{Store: m, Shift: func(_ *testing.T, d time.Duration) { m.Pass(d) }},
				ledgertest.Opened{Store: open(t, url, options...), Shift: func(t *testing.T, d time.Duration) { pass(t, url, schema, d) }})
		})
	}
}

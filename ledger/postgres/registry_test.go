package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// A process that declares no definitions can still not work on the ledger of
// another registry, whose runs have the same ids under another principal.
func TestOpenRefusesTheLedgerOfAnotherRegistry(t *testing.T) {
	url := migrated(t)
	open(t, url)                            // does not ask
	open(t, url, postgres.Registry("acme")) // the first comer's
	open(t, url, postgres.Registry("acme"))
	_, err := postgres.Open(t.Context(), url, postgres.Registry("other"))
	if !errors.Is(err, ledger.ErrOtherRegistry) || !strings.Contains(err.Error(), `"acme"`) {
		t.Errorf("opened another's ledger: %v", err)
	}
}

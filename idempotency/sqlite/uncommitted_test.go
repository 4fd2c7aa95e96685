package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
)

// Connections that share a cache see what another has written and not committed
// where their service has told them to. Its reply may yet be rolled back: the
// kit is of no use there, and says so.
func TestAConnectionThatSeesWhatIsNotCommittedIsRefused(t *testing.T) {
	path := fresh(t)
	driver, err := modernc.NewConnector(strings.Replace(sqlite.Source(path), "immediate", "deferred", 1) + "&cache=shared&_pragma=read_uncommitted(1)")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(driver)
	defer db.Close()
	other, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := other.Exec(`INSERT INTO idempotency_keys (scope, principal, key, request_hash, state, owner, created_at, expires_at)
VALUES ('s', '-', 'k', 'f', 'done', 'o', 1, 9999999999999)`); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		if !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), "read_uncommitted") {
			t.Errorf("%s: %v", what, err)
		}
	}
	keys := sqlite.New(db, sqlite.Options{})
	c := store.Claim{Key: idempotency.Key{Scope: "s", Principal: "-", Value: "k"}, Fingerprint: "f", Owner: "p", TTL: time.Hour}
	status, err := keys.Lookup(t.Context(), c)
	if refused("a look-up", err); status.Record != nil {
		t.Fatalf("it sees what is not committed: %+v", status.Record)
	}
	_, err = keys.Reserve(t.Context(), c, time.Minute, false)
	refused("a reservation", err)
	k, err := idempotency.New(keys, idempotency.Options{Principal: idempotency.SinglePrincipal("x"), Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Rollback()
	for what, ctx := range map[string]context.Context{
		"work": t.Context(), "work in a transaction handed in": keys.WithTx(t.Context(), joined),
	} {
		_, err = k.Do(ctx, "s", "k", nil, func(context.Context) error { t.Error("it was run"); return nil })
		refused(what, err)
	}
}

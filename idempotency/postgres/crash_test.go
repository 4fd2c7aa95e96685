package postgres_test

import (
	"net/http"
	"testing"

	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

// A server that crashes forgets the id of a transaction that wrote nothing to its log, and gives
// it to another one. That the other one is committed does not mean that the work is.
func TestWorkThatACrashUndoesLeavesItsKeyFree(t *testing.T) {
	server := testdb.PostgresServer(t)
	url, err := server.Create("shop")
	fatal := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fatal(err)
	migrate(t, url)
	p := pool(t, url)
	k := kit(t, p)
	reused := false
	w := serve(k, "crashed", func(w http.ResponseWriter, r *http.Request) {
		var id, next int64
		fatal(postgres.Tx(r.Context()).QueryRow(r.Context(), `SELECT txid_current()`).Scan(&id))
		fatal(server.Stop(testdb.Immediate))
		fatal(server.Start())
		others := pool(t, url)
		for next < id {
			fatal(others.QueryRow(t.Context(), `SELECT txid_current()`).Scan(&next))
			reused = reused || next == id
		}
		_, err := postgres.Tx(r.Context()).Exec(r.Context(), `INSERT INTO effects VALUES ('paid')`)
		if err == nil {
			t.Error("the work's connection has outlived its server")
		}
		http.Error(w, "the database is gone", http.StatusInternalServerError)
	})
	if w.Code < 500 || !reused {
		t.Fatalf("the first call: %d %s; its transaction's id was given away again: %t", w.Code, w.Body, reused)
	}
	if w := serve(k, "crashed", pay); w.Code != http.StatusCreated || effects(t, p) != 1 {
		t.Errorf("the call again: %d %s, %d effects", w.Code, w.Body, effects(t, p))
	}
}

package postgres_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/cronce/cronce/idempotency"
)

// The holder of a done key's lock is only another reader, or another key with
// the same lock: a replay is given all the same, and does not wait.
func TestAReplayNeedsNoLock(t *testing.T) {
	p := pool(t, database(t))
	k := kit(t, p, func(o *idempotency.Options) { o.Wait = -1 })
	var lock int64
	serve(k, "k", func(w http.ResponseWriter, r *http.Request) {
		lock = int64(count(t, p, `SELECT classid::bigint << 32 | objid::bigint FROM pg_locks
			WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`))
		pay(w, r)
	})
	holder, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(context.Background())
	var held bool
	if err := holder.QueryRow(t.Context(), `SELECT pg_try_advisory_xact_lock($1)`, lock).Scan(&held); err != nil || !held {
		t.Fatal(held, err)
	}
	if w := serve(k, "k", pay); w.Code != 201 || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("a replay was answered %d %s while another held the lock", w.Code, w.Body)
	}
	must(t, p, `DELETE FROM accounting.idempotency_keys`)
	if w := serve(k, "k", pay); w.Code != http.StatusConflict {
		t.Errorf("without a stored reply it was answered %d, so the test held another lock", w.Code)
	}
}

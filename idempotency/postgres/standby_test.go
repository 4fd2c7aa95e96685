package postgres_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/store"
	"github.com/cronce/cronce/internal/testdb"
)

// A standby takes no keys: its calls are refused before their work runs, and its
// connections are not used again, since a new one may lead to the primary. Once it is
// promoted they are done.
func TestAStandbyIsRefusedUntilItIsPromoted(t *testing.T) {
	primary := testdb.PostgresServer(t)
	url, err := primary.Create("shop")
	if err != nil {
		t.Fatal(err)
	}
	migrate(t, url)
	first := pool(t, url)
	if w := serve(kit(t, first), "done", pay); w.Code != http.StatusCreated {
		t.Fatalf("on the primary: %d %s", w.Code, w.Body)
	}
	standby := testdb.PostgresStandby(t, primary)
	p := pool(t, strings.Replace(standby.URL, "/postgres?", "/shop?", 1))
	k := kit(t, p, func(o *idempotency.Options) { o.Wait = -1 })
	key := "new"
	for _, key := range []string{key, "done"} {
		w := serve(k, key, func(http.ResponseWriter, *http.Request) { t.Errorf("%s: the work ran", key) })
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "idempotency_store_unavailable") || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s was answered %d %v %s", key, w.Code, w.Header(), w.Body)
		}
	}
	if n := p.Stat().IdleConns(); n != 0 {
		t.Errorf("%d connections to the standby are kept", n)
	}
	keys := postgres.New(p, options)
	done := store.Claim{Key: idempotency.Key{Scope: scope, Principal: "caller", Value: "done"}}
	if status, err := keys.Lookup(t.Context(), done); err != nil || status.Record == nil {
		t.Errorf("a look-up, which writes nothing: %+v, %v", status, err)
	}

	must(t, p, `SELECT pg_promote(true, 60)`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for { // the connections hear of it with an answer of theirs
		w := serve(k, key, pay)
		if w.Code == http.StatusCreated {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("a minute after the promotion it is answered %d %s", w.Code, w.Body)
		}
	}
	if w := serve(k, "done", pay); w.Code != http.StatusCreated || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("then what was done on the primary is answered %d %s", w.Code, w.Body)
	}
	if n := effects(t, p); n != 2 {
		t.Errorf("%d effects", n)
	}
}

package postgres_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

// A reply that the synchronous standby does not have is not replayed: a failover would lose it,
// and the effect.
func TestAReplyWaitsForTheSynchronousStandby(t *testing.T) {
	primary := testdb.PostgresServer(t)
	shop, err := primary.Create("shop")
	fatal(t, err)
	migrate(t, shop)
	must(t, pool(t, shop), `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	fatal(t, primary.Stop(testdb.Immediate))
	fatal(t, primary.Start())
	p := pool(t, shop+"&synchronous_commit=local") // what the test itself writes waits for nobody
	k := kit(t, p, func(o *idempotency.Options) { o.StoreTimeout, o.MaxRun, o.Wait = 5*time.Second, time.Second, -1 })
	w := serve(k, "k", func(w http.ResponseWriter, r *http.Request) {
		_, err := postgres.Tx(r.Context()).Exec(r.Context(), `SET LOCAL synchronous_commit = on`)
		fatal(t, err)
		pay(w, r)
	})
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("without the standby: %d %s", w.Code, w.Body)
	}
	must(t, p, `SELECT pg_sleep(1)`) // a request to cancel would have come by now
	if w := serve(k, "k", pay); w.Code != http.StatusConflict || effects(t, p) != 0 {
		t.Errorf("again: %d %s, %d effects", w.Code, w.Body, effects(t, p))
	}
	must(t, p, `ALTER SYSTEM RESET synchronous_standby_names`)
	must(t, p, `SELECT pg_reload_conf()`)
	for w = serve(k, "k", pay); w.Code == http.StatusConflict; w = serve(k, "k", pay) {
		must(t, p, `SELECT pg_sleep(0.01)`)
	}
	if n := effects(t, p); w.Header().Get("Idempotent-Replayed") != "true" || n != 1 {
		t.Errorf("with the standby: %d %s, %d effects", w.Code, w.Body, n)
	}
}

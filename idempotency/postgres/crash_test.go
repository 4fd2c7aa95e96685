package postgres_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

// A server that crashes forgets the id of a transaction that wrote nothing to its log, and gives
// it to another one. So does a standby that has not heard of it. That the other one is committed
// does not mean that the work is.
func TestWorkThatACrashUndoesLeavesItsKeyFree(t *testing.T) {
	for name, crash := range map[string]func(t *testing.T, primary, standby *testdb.Server, backend int){
		"the server": func(t *testing.T, primary, _ *testdb.Server, _ int) {
			fatal(t, primary.Stop(testdb.Immediate))
			fatal(t, primary.Start())
		},
		"one backend": func(t *testing.T, primary, _ *testdb.Server, backend int) {
			conn, err := pool(t, primary.URL).Acquire(t.Context())
			fatal(t, err)
			defer conn.Release()
			_, err = conn.Exec(t.Context(), fmt.Sprintf(`COPY (SELECT 1) TO PROGRAM 'kill -9 %d'`, backend))
			for err == nil { // the crash ends this session too, soon
				_, err = conn.Exec(t.Context(), `SELECT`)
			}
		},
		"the primary of a standby": func(t *testing.T, primary, standby *testdb.Server, _ int) {
			fatal(t, primary.Stop(testdb.Immediate))
			p := pool(t, standby.URL)
			must(t, p, `SELECT pg_promote(true, 60)`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := testdb.PostgresServer(t)
			shop, err := primary.Create("shop")
			fatal(t, err)
			migrate(t, shop)
			standby := testdb.PostgresStandby(t, primary)
			p := pool(t, eitherOf(t, shop, standby.URL))
			k := kit(t, p)
			reused := false
			w := serve(k, "crashed", func(w http.ResponseWriter, r *http.Request) {
				var id int64
				var backend int
				tx := postgres.Tx(r.Context())
				fatal(t, tx.QueryRow(r.Context(), `SELECT txid_current(), pg_backend_pid()`).Scan(&id, &backend))
				crash(t, primary, standby, backend)
				reused = givenAway(t, p, id)
				if _, err := tx.Exec(r.Context(), `INSERT INTO effects VALUES ('paid')`); err == nil {
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
		})
	}
}

// eitherOf connects to the one of two servers that takes writes.
func eitherOf(t *testing.T, primary, standby string) string {
	first, err := url.Parse(primary)
	fatal(t, err)
	second, err := url.Parse(standby)
	fatal(t, err)
	first.Host += "," + second.Host
	q := first.Query()
	q.Set("target_session_attrs", "read-write")
	first.RawQuery = q.Encode()
	return first.String()
}

// givenAway reports whether a transaction that is committed gets the id, once the server is back.
func givenAway(t *testing.T, p *pgxpool.Pool, id int64) bool {
	for next := int64(0); next < id; {
		if err := p.QueryRow(t.Context(), `SELECT txid_current()`).Scan(&next); err != nil {
			<-time.After(10 * time.Millisecond) // it recovers
			continue
		}
		if next == id {
			return true
		}
	}
	return false
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

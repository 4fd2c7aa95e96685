package main

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheManualQuotesTheService(t *testing.T) {
	code, err := os.ReadFile("main.go")
	check(err)
	manual, err := os.ReadFile("../../docs/targets.md")
	check(err)
	if !strings.Contains(string(manual), "```go\n"+string(code)+"```\n") {
		t.Error("docs/targets.md does not quote examples/service/main.go; copy the file into its first code block")
	}
}

func TestAPaymentIsMadeOnce(t *testing.T) {
	t.Setenv("ALICE_PASSWORD", "open sesame")
	db, err := sql.Open("pgx", testdb.Postgres(t))
	check(err)
	defer db.Close()
	service(t.Context(), db)
	handler := service(t.Context(), db) // the next start finds the tables
	pay := func(password, key, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/v1/payments", strings.NewReader(body))
		r.SetBasicAuth("alice", password)
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if w := pay("open sesame", "order-1", `{"cents": 100}`); w.Code != http.StatusCreated {
				t.Errorf("answered %d %q, want 201", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	for _, c := range []struct {
		password, key, body string
		status              int
	}{
		{"open sesame", "order-1", `{"cents": 200}`, http.StatusConflict},
		{"open sesame", "order-2", `{"cents": 0}`, http.StatusBadRequest},
		{"open sesame", "order-3", `{"cents": 300}`, http.StatusCreated},
		{"wrong", "order-4", `{"cents": 400}`, http.StatusUnauthorized},
	} {
		if w := pay(c.password, c.key, c.body); w.Code != c.status {
			t.Errorf("%s %s: answered %d %q, want %d", c.key, c.body, w.Code, w.Body, c.status)
		}
	}
	var payments, cents int
	check(db.QueryRow(`SELECT count(*), sum(cents) FROM payments`).Scan(&payments, &cents))
	if payments != 2 || cents != 400 {
		t.Errorf("%d payments of %d cents, want 2 of 400", payments, cents)
	}
}

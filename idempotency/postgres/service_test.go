package postgres_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/testdb"
)

func TestTheServiceOfTheExamplePaysOnce(t *testing.T) {
	db := pool(t, testdb.Postgres(t))
	service, err := newService(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, replayed := range []string{"", "true"} {
		r := httptest.NewRequest(http.MethodPost, "/v1/payments", strings.NewReader(`{"amount":100}`))
		r.Header.Set("Idempotency-Key", "order-1")
		r.SetBasicAuth("alice", "")
		w := httptest.NewRecorder()
		service.ServeHTTP(w, r)
		if w.Code != http.StatusCreated || w.Body.String() != "paid" || w.Header().Get("Idempotent-Replayed") != replayed {
			t.Errorf("answered %d %q %v", w.Code, w.Body, w.Header())
		}
	}
	var payments int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM payments`).Scan(&payments); err != nil || payments != 1 {
		t.Errorf("%d payments, %v", payments, err)
	}
}

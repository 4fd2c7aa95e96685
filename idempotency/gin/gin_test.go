package idempotencygin_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/idempotency"
	idempotencygin "github.com/cronce/cronce/idempotency/gin"
	"github.com/cronce/cronce/idempotency/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// More tests are in examples/frameworks, which mounts this package.
func TestAKeyHasOneEffectAndOneAnswer(t *testing.T) {
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store := sqlite.New(db, sqlite.Options{})
	if err := store.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("-")})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	router := gin.New()
	router.POST("/pay/:account", idempotencygin.Handler(kit, idempotency.Route{}, func(c *gin.Context) {
		runs++
		if c.Param("account") == "fails" {
			c.String(http.StatusServiceUnavailable, "later")
			return
		}
		if c.Param("account") == "errs" {
			_ = c.Error(errors.New("for middleware that replies"))
			return
		}
		c.String(http.StatusCreated, "run %d", runs)
		if c.Param("account") == "logs" {
			_ = c.Error(errors.New("for the log"))
		}
	}))
	for _, c := range []struct {
		path, key, body string
		status, runs    int
		replayed        bool
	}{
		{"/pay/alice", "1", "run 1", 201, 1, false},
		{"/pay/alice", "1", "run 1", 201, 1, true},
		{"/pay/alice", "2", "run 2", 201, 2, false},
		{"/pay/fails", "3", "", 503, 3, false}, // it leaves the key free
		{"/pay/fails", "3", "", 503, 4, false},
		{"/pay/errs", "4", "", 500, 5, false}, // and so does an error without a reply
		{"/pay/errs", "4", "", 500, 6, false},
		{"/pay/logs", "5", "run 7", 201, 7, false}, // but not one after it
		{"/pay/logs", "5", "run 7", 201, 7, true},
		{"/pay/bob", "1", "", 409, 7, false}, // one scope for the route
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, nil)
		r.Header.Set(idempotency.HeaderKey, c.key)
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		replayed := w.Header().Get(idempotency.HeaderReplayed) == "true"
		if w.Code != c.status || c.body != "" && w.Body.String() != c.body || replayed != c.replayed || runs != c.runs {
			t.Errorf("%s %s: %d %q, replayed %t, %d runs; want %+v", c.path, c.key, w.Code, w.Body, replayed, runs, c)
		}
	}
}

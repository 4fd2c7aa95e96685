package idempotencyecho_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/idempotency"
	idempotencyecho "github.com/cronce/cronce/idempotency/echo"
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
	router := echo.New()
	errSilent, errSucceeds := errors.New("the error handler writes nothing"), errors.New("the error handler replies 200")
	router.HTTPErrorHandler = func(err error, c echo.Context) {
		switch {
		case errors.Is(err, errSilent):
		case errors.Is(err, errSucceeds):
			c.Response().Header().Set("Location", "/error")
			_ = c.String(http.StatusOK, "failed")
		default:
			router.DefaultHTTPErrorHandler(err, c)
		}
	}
	router.POST("/pay/:account", func(c echo.Context) error {
		runs++
		if c.Param("account") == "fails" {
			c.Response().Header().Set("Retry-After", "7")
			return echo.NewHTTPError(http.StatusServiceUnavailable, "later")
		}
		c.Response().Header().Set("Location", "/run")
		err := c.String(http.StatusCreated, fmt.Sprintf("run %d", runs))
		switch c.Param("account") {
		case "errs":
			return errors.New("after the reply")
		case "silent":
			return errSilent
		case "succeeds":
			return errSucceeds
		}
		return err
	}, idempotencyecho.Middleware(kit, idempotency.Route{}))
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
		{"/pay/errs", "4", `{"message":"Internal Server Error"}` + "\n", 500, 5, false}, // nor is a reply kept before an error
		{"/pay/errs", "4", "", 500, 6, false},
		{"/pay/silent", "5", "", 500, 7, false}, // nor does an error handler make a success of it
		{"/pay/silent", "5", "", 500, 8, false},
		{"/pay/succeeds", "6", "", 500, 9, false},
		{"/pay/succeeds", "6", "", 500, 10, false},
		{"/pay/bob", "1", "", 409, 10, false}, // one scope for the route
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, nil)
		r.Header.Set(idempotency.HeaderKey, c.key)
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		replayed := w.Header().Get(idempotency.HeaderReplayed) == "true"
		location, retry := w.Header().Get("Location"), w.Header().Get("Retry-After")
		if (location != "") != (c.status == http.StatusCreated) || (retry == "7") != (c.status == http.StatusServiceUnavailable) {
			t.Errorf("%s %s: Location %q, Retry-After %q", c.path, c.key, location, retry)
		}
		if w.Code != c.status || c.body != "" && w.Body.String() != c.body || replayed != c.replayed || runs != c.runs {
			t.Errorf("%s %s: %d %q, replayed %t, %d runs; want %+v", c.path, c.key, w.Code, w.Body, replayed, runs, c)
		}
	}
}

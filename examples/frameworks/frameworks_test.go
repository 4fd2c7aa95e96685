package frameworks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/idempotency"
	idempotencyecho "github.com/cronce/cronce/idempotency/echo"
	idempotencygin "github.com/cronce/cronce/idempotency/gin"
	"github.com/cronce/cronce/idempotency/sqlite"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(m)
}

// service takes payments on SQLite.
type service struct {
	*testing.T
	db   *sql.DB
	kit  *idempotency.Kit
	runs atomic.Int32
}

func newService(t *testing.T) *service {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "service.db"))
	check(t, err)
	t.Cleanup(func() { db.Close() })
	err = sqlite.New(db, sqlite.Options{}).CreateTable(t.Context())
	check(t, err)
	_, err = db.Exec(`CREATE TABLE payments (account TEXT)`)
	check(t, err)
	kit, err := idempotency.New(sqlite.New(db, sqlite.Options{}), idempotency.Options{
		Principal: idempotency.SinglePrincipal("-"), Wait: time.Minute, StoreTimeout: time.Minute})
	check(t, err)
	return &service{T: t, db: db, kit: kit}
}

var errClosed = errors.New("the account is closed")

// pay is each framework's handler, without its framework. It fails after it has
// written.
func (s *service) pay(ctx context.Context, account string) (string, error) {
	run := s.runs.Add(1)
	if _, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO payments VALUES (?)`, account); err != nil {
		return "", err
	}
	switch account {
	case "closed":
		return "", errClosed
	case "panics":
		panic("boom")
	}
	return fmt.Sprintf("paid by %s in run %d", account, run), nil
}

// services are the frameworks' ways to answer with it: 201, or 422.
var services = map[string]func(s *service) http.Handler{
	"chi":  func(s *service) http.Handler { return Chi(s.kit, s.payChi) },
	"echo": func(s *service) http.Handler { return Echo(s.kit, s.payEcho) },
	"gin":  func(s *service) http.Handler { return Gin(s.kit, s.payGin) },
}

func (s *service) payChi(w http.ResponseWriter, r *http.Request) {
	text, err := s.pay(r.Context(), chi.URLParam(r, "account"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, text)
}

func (s *service) payEcho(c echo.Context) error {
	text, err := s.pay(c.Request().Context(), c.Param("account"))
	if err != nil {
		return echo.NewHTTPError(http.StatusUnprocessableEntity, err.Error())
	}
	return c.String(http.StatusCreated, text)
}

func (s *service) payGin(c *gin.Context) {
	text, err := s.pay(c.Request.Context(), c.Param("account"))
	if err != nil {
		c.AbortWithStatusJSON(http.StatusUnprocessableEntity, gin.H{"error": err.Error()})
		return
	}
	c.String(http.StatusCreated, text)
}

// each runs a test on a service of each framework.
func each(t *testing.T, test func(*service, http.Handler)) {
	for name, handler := range services {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			test(s, handler(s))
		})
	}
}

func post(h http.Handler, path, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, nil)
	r.Header.Set(idempotency.HeaderKey, key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func (s *service) want(w *httptest.ResponseRecorder, status int, body string, replayed bool) {
	s.Helper()
	if was := w.Header().Get(idempotency.HeaderReplayed) == "true"; w.Code != status || !strings.Contains(w.Body.String(), body) || was != replayed {
		s.Errorf("answered %d %q, replayed %t; want %d with %q, %t", w.Code, w.Body, was, status, body, replayed)
	}
}

func (s *service) wantPayments(want int) {
	s.Helper()
	var got int
	check(s, s.db.QueryRow(`SELECT count(*) FROM payments`).Scan(&got))
	if got != want {
		s.Errorf("%d payments, want %d", got, want)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOneKeyHasOneEffect(t *testing.T) {
	each(t, func(s *service, h http.Handler) {
		answers := make([]*httptest.ResponseRecorder, 16)
		var all sync.WaitGroup
		for n := range answers {
			all.Go(func() { answers[n] = post(h, "/v1/accounts/alice/payments", "order-1") })
		}
		all.Wait()
		first := 0
		for _, w := range answers {
			if w.Header().Get(idempotency.HeaderReplayed) == "" {
				first++
			}
			if w.Code != 201 || w.Body.String() != "paid by alice in run 1" || w.Header().Get("Content-Type") != answers[0].Header().Get("Content-Type") {
				s.Errorf("answered %d %q %v", w.Code, w.Body, w.Header())
			}
		}
		if first != 1 {
			s.Errorf("%d answers are not replays, want 1", first)
		}
		s.wantPayments(1)
	})
}

func TestRoutesHaveScopesOfTheirOwn(t *testing.T) {
	each(t, func(s *service, h http.Handler) {
		s.want(post(h, "/v1/accounts/alice/payments", "order-1"), 201, "run 1", false)
		s.want(post(h, "/v1/accounts/alice/refunds", "order-1"), 201, "run 2", false)
		// One scope for the route, whatever its parameters.
		s.want(post(h, "/v1/accounts/bob/payments", "order-1"), 409, idempotency.CodeMismatch, false)
		s.wantPayments(2)
	})
}

func TestErrorsOfTheFrameworkAreStored(t *testing.T) {
	each(t, func(s *service, h http.Handler) {
		s.want(post(h, "/v1/accounts/closed/payments", "order-1"), 422, errClosed.Error(), false)
		s.want(post(h, "/v1/accounts/closed/payments", "order-1"), 422, errClosed.Error(), true)
		s.wantPayments(0)
	})
}

func TestAPanicLeavesTheKeyFree(t *testing.T) {
	each(t, func(s *service, h http.Handler) {
		for range 2 {
			func() {
				defer func() { recover() }()
				post(h, "/v1/accounts/panics/payments", "order-1")
				s.Error("no panic")
			}()
		}
		if runs := s.runs.Load(); runs != 2 {
			s.Errorf("%d runs, want 2", runs)
		}
		s.wantPayments(0)
	})
}

// Around a router, or in middleware that runs before the route is found, the key
// scope is not certain.
func TestAMisplacedKitIsRefused(t *testing.T) {
	once := func(s *service) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler { return s.kit.Handler(idempotency.Route{}, next) }
	}
	for name, handler := range map[string]func(s *service) http.Handler{
		"around chi":  func(s *service) http.Handler { return once(s)(services["chi"](s)) },
		"around echo": func(s *service) http.Handler { return once(s)(services["echo"](s)) },
		"around gin":  func(s *service) http.Handler { return once(s)(services["gin"](s)) },
		"in chi's Use": func(s *service) http.Handler {
			router := chi.NewRouter()
			router.Use(once(s))
			router.Post("/v1/accounts/{account}/payments", s.payChi)
			return router
		},
		"in Use of a mounted chi router": func(s *service) http.Handler {
			inner, router := chi.NewRouter(), chi.NewRouter()
			inner.Use(once(s))
			inner.Post("/{account}/payments", s.payChi)
			router.Mount("/v1/accounts", inner)
			return router
		},
		"in echo's Pre": func(s *service) http.Handler {
			router := echo.New()
			router.Pre(idempotencyecho.Middleware(s.kit, idempotency.Route{}))
			router.POST("/v1/accounts/:account/payments", s.payEcho)
			return router
		},
		"in echo by WrapMiddleware": func(s *service) http.Handler {
			router := echo.New()
			router.POST("/v1/accounts/:account/payments", s.payEcho, echo.WrapMiddleware(once(s)))
			return router
		},
		"in gin by WrapH": func(s *service) http.Handler {
			router := gin.New()
			router.POST("/v1/accounts/:account/payments", gin.WrapH(once(s)(http.HandlerFunc(s.payChi))))
			return router
		},
		"twice in chi": func(s *service) http.Handler {
			router := chi.NewRouter()
			router.With(once(s), once(s)).Post("/v1/accounts/{account}/payments", s.payChi)
			return router
		},
		"twice in echo": func(s *service) http.Handler {
			router := echo.New()
			router.Use(idempotencyecho.Middleware(s.kit, idempotency.Route{}))
			router.POST("/v1/accounts/:account/payments", s.payEcho, idempotencyecho.Middleware(s.kit, idempotency.Route{}))
			return router
		},
		"twice in gin": func(s *service) http.Handler {
			router := gin.New()
			router.POST("/v1/accounts/:account/payments", idempotencygin.Handler(s.kit, idempotency.Route{}, idempotencygin.Handler(s.kit, idempotency.Route{}, s.payGin)))
			return router
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			h := handler(s)
			for range 2 {
				s.want(post(h, "/v1/accounts/alice/payments", "order-1"), 500, idempotency.CodeMisplaced, false)
			}
			s.wantPayments(0)
		})
	}
}

package orm

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
	"gorm.io/gorm"

	"github.com/cronce/cronce/examples/frameworks/orm/payments"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database has the tables of the kit and of the service.
func database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", testdb.Postgres(t))
	check(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(8)
	err = pgsql.New(db, pgsql.Options{}).CreateTable(t.Context())
	check(t, err)
	_, err = db.Exec(`CREATE TABLE payments (id bigserial PRIMARY KEY, account text NOT NULL, amount bigint NOT NULL CHECK (amount > 0))`)
	check(t, err)
	return db
}

// each runs a test on a service of each library.
func each(t *testing.T, test func(*testing.T, *sql.DB, Insert)) {
	for name, library := range map[string]func(*sql.DB) (Insert, error){
		"GORM": GORM,
		"bun":  func(db *sql.DB) (Insert, error) { return Bun(db), nil },
		"sqlc": func(db *sql.DB) (Insert, error) { return SQLC(payments.New(db)), nil },
	} {
		t.Run(name, func(t *testing.T) {
			db := database(t)
			insert, err := library(db)
			check(t, err)
			test(t, db, insert)
		})
	}
}

// once mounts the kit around a handler.
func once(t *testing.T, db *sql.DB, handler http.Handler) http.Handler {
	t.Helper()
	kit, err := idempotency.New(pgsql.New(db, pgsql.Options{}), idempotency.Options{
		Principal: idempotency.SinglePrincipal("shop"), Wait: time.Minute, StoreTimeout: time.Minute})
	check(t, err)
	check(t, kit.Ready(t.Context()))
	return kit.Handler(idempotency.Route{Scope: "payments"}, handler)
}

func post(h http.Handler, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/payments", strings.NewReader(body))
	r.Header.Set(idempotency.HeaderKey, key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantPayments(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var got int
	check(t, db.QueryRow(`SELECT count(*) FROM payments`).Scan(&got))
	if got != want {
		t.Errorf("%d payments, want %d", got, want)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The keys run beside each other, so that a transaction that leaks into another
// request would be seen.
func TestAStormOfEachKeyHasOneEffect(t *testing.T) {
	const keys, calls = 4, 12
	each(t, func(t *testing.T, db *sql.DB, insert Insert) {
		h := once(t, db, Pay(insert))
		bodies := make([][calls]string, keys)
		var all sync.WaitGroup
		for k := range keys {
			for c := range calls {
				all.Go(func() {
					w := post(h, fmt.Sprint("order-", k), fmt.Sprintf(`{"account":"alice","amount":%d}`, k+1))
					if bodies[k][c] = w.Body.String(); w.Code != 201 {
						t.Errorf("answered %d %q", w.Code, w.Body)
					}
				})
			}
		}
		all.Wait()
		for k, got := range bodies {
			for _, body := range got {
				if body != got[0] || !strings.Contains(body, fmt.Sprintf(`"amount":%d`, k+1)) {
					t.Errorf("order-%d was answered %q and %q", k, got[0], body)
				}
			}
		}
		wantPayments(t, db, keys)
	})
}

func TestAFailingHandlerIsRolledBack(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, insert Insert) {
		fail := true
		h := once(t, db, Pay(func(ctx context.Context, p *Payment) error {
			if err := insert(ctx, p); err != nil || !fail {
				return err
			}
			return errors.New("the ledger is closed")
		}))
		if w := post(h, "order-1", `{"amount":100}`); w.Code != 500 {
			t.Errorf("answered %d %q, want 500", w.Code, w.Body)
		}
		wantPayments(t, db, 0)
		fail = false // the key went with the row
		if w := post(h, "order-1", `{"amount":100}`); w.Code != 201 || w.Header().Get(idempotency.HeaderReplayed) != "" {
			t.Errorf("answered %d %q %v, want 201 by new work", w.Code, w.Body, w.Header())
		}
		wantPayments(t, db, 1)
	})
}

// A statement that PostgreSQL refuses reaches the handler as the library's error.
func TestAFailedStatementIsRolledBack(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, insert Insert) {
		h := once(t, db, Pay(insert))
		for range 2 {
			if w := post(h, "order-1", `{"amount":0}`); w.Code != 500 || !strings.Contains(w.Body.String(), "not stored") {
				t.Errorf("answered %d %q, want the handler's 500", w.Code, w.Body)
			}
		}
		wantPayments(t, db, 0)
	})
}

func TestATransactionInsideGORMIsASavepoint(t *testing.T) {
	db := database(t)
	orm, err := openGORM(db)
	check(t, err)
	h := once(t, db, Pay(func(ctx context.Context, p *Payment) error {
		session, refused := within(ctx, orm), errors.New("refused")
		err := session.Transaction(func(tx *gorm.DB) error {
			check(t, tx.Create(&Payment{Amount: 1}).Error)
			return refused
		})
		if !errors.Is(err, refused) {
			t.Errorf("the inner transaction returned %v", err)
		}
		return session.Create(p).Error
	}))
	if w := post(h, "order-1", `{"amount":100}`); w.Code != 201 {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
	wantPayments(t, db, 1)
}

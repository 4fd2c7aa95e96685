package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

const scope = "route:POST_/pay"

func kit(t testing.TB, p *pgxpool.Pool, change ...func(*idempotency.Options)) *idempotency.Kit {
	t.Helper()
	o := idempotency.Options{Principal: idempotency.SinglePrincipal("caller"), Logger: slog.New(slog.DiscardHandler),
		StoreTimeout: time.Minute}
	for _, c := range change {
		c(&o)
	}
	k, err := idempotency.New(postgres.New(p, options), o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func serve(k *idempotency.Kit, key string, h http.HandlerFunc) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/pay", strings.NewReader(`{"amount":100}`))
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	k.Handler(idempotency.Route{Scope: scope}, h).ServeHTTP(w, r)
	return w
}

func pay(w http.ResponseWriter, r *http.Request) {
	if _, err := postgres.Tx(r.Context()).Exec(r.Context(), `INSERT INTO effects VALUES ('paid')`); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, "paid")
}

func count(t testing.TB, p *pgxpool.Pool, query string, args ...any) (n int) {
	t.Helper()
	if err := p.QueryRow(context.Background(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func effects(t testing.TB, p *pgxpool.Pool) int { return count(t, p, `SELECT count(*) FROM effects`) }

func TestWaitingDuplicatesLeaveThePoolToOtherKeys(t *testing.T) {
	p := pool(t, database(t))
	k := kit(t, p, func(o *idempotency.Options) { o.Wait = time.Minute })
	inside, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	replies := make(chan int, 64)
	all.Go(func() {
		replies <- serve(k, "crowded", func(w http.ResponseWriter, r *http.Request) {
			close(inside)
			<-release
			pay(w, r)
		}).Code
	})
	<-inside
	for range 63 {
		all.Go(func() { replies <- serve(k, "crowded", pay).Code })
	}
	for i := range 32 { // more than the pool has connections
		if w := serve(k, fmt.Sprint("other-", i), pay); w.Code != 201 {
			t.Fatalf("another key was answered %d %s", w.Code, w.Body)
		}
	}
	if n := p.Stat().AcquiredConns(); n > 2 {
		t.Errorf("the crowd holds %d connections", n)
	}
	close(release)
	all.Wait()
	for range 64 {
		if code := <-replies; code != 201 {
			t.Errorf("answered %d", code)
		}
	}
	if n := effects(t, p); n != 33 {
		t.Errorf("%d effects", n)
	}
}

func TestTheRolesDefaultIsolationDoesNotMatter(t *testing.T) {
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			url := database(t)
			strict := func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_isolation"] = level }
			kits := []*idempotency.Kit{kit(t, pool(t, url, strict)), kit(t, pool(t, url, strict))}
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					if w := serve(kits[i%2], "k", pay); w.Code != 201 {
						t.Errorf("answered %d %s", w.Code, w.Body)
					}
				})
			}
			all.Wait()
			if n := effects(t, pool(t, url)); n != 1 {
				t.Errorf("%d effects", n)
			}
		})
	}
}

func TestAHandedInRepeatableReadTransactionIsRefused(t *testing.T) {
	p := pool(t, database(t))
	store := postgres.New(p, options)
	k, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := p.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	_, err = k.Do(store.WithTx(t.Context(), tx), "s", "k", nil, func(context.Context) error {
		t.Error("the work was run")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "READ COMMITTED") || errors.Is(err, idempotency.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO effects VALUES ('after')`); err != nil {
		t.Errorf("the caller's transaction is spoilt: %v", err)
	}
}

func TestWhatTheDatabaseRefusesToCommitLeavesTheKeyFree(t *testing.T) {
	p := pool(t, database(t))
	must(t, p, `CREATE TABLE parent (id int PRIMARY KEY)`)
	must(t, p, `CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`)
	must(t, p, `CREATE TABLE single (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
	must(t, p, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE not_null_violation USING TABLE = 'watched', COLUMN = 'created_at'; END $$`)
	must(t, p, `CREATE TABLE watched (id int)`)
	must(t, p, `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON watched DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
	writes := func(sql string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if _, err := postgres.Tx(r.Context()).Exec(r.Context(), sql); err != nil {
				t.Error(err)
			}
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"a deferred constraint": writes(`INSERT INTO child VALUES (1)`),
		// Their codes are also those of a lost race and of an ended transaction.
		"a deferred unique constraint": writes(`INSERT INTO single VALUES (1), (1)`),
		"a deferred trigger":           writes(`INSERT INTO watched VALUES (1)`),
		"a failed statement that the work ignored": func(w http.ResponseWriter, r *http.Request) {
			_, _ = postgres.Tx(r.Context()).Exec(r.Context(), `SELECT 1/0`)
		},
		"a transaction ended and begun anew": func(w http.ResponseWriter, r *http.Request) {
			must := func(sql string) {
				if _, err := postgres.Tx(r.Context()).Exec(r.Context(), sql); err != nil {
					t.Error(err)
				}
			}
			must(`ROLLBACK`)
			must(`BEGIN`)
			must(`INSERT INTO effects VALUES ('outside')`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(kit(t, p), strings.ReplaceAll(name, " ", "-"), h)
			if w.Code != 500 || !strings.Contains(w.Body.String(), "transaction_") {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		})
	}
	for _, free := range []string{"a-deferred-constraint", "a-deferred-unique-constraint", "a-deferred-trigger", "a-failed-statement-that-the-work-ignored"} {
		if w := serve(kit(t, p), free, pay); w.Code != 201 {
			t.Errorf("%s: then answered %d %s", free, w.Code, w.Body)
		}
	}
	if n := effects(t, p); n != 4 {
		t.Errorf("%d effects", n)
	}
}

func TestCommitAndRollbackAreTheKits(t *testing.T) {
	p := pool(t, database(t))
	var leaked pgx.Tx
	serve(kit(t, p), "k", func(w http.ResponseWriter, r *http.Request) {
		leaked = postgres.Tx(r.Context())
		for _, err := range []error{leaked.Commit(r.Context()), leaked.Rollback(r.Context())} {
			if !errors.Is(err, idempotency.ErrTxManaged) {
				t.Error(err)
			}
		}
		nested, err := leaked.Begin(r.Context())
		if err != nil {
			t.Error(err)
		}
		_, _ = nested.Exec(r.Context(), `SELECT 1/0`)
		if err := nested.Rollback(r.Context()); err != nil {
			t.Error(err)
		}
		pay(w, r)
	})
	if n := effects(t, p); n != 1 {
		t.Errorf("%d effects", n)
	}
	if _, err := leaked.Exec(t.Context(), `SELECT 1`); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("the transaction can be used after its end: %v", err)
	}
	if err := leaked.QueryRow(t.Context(), `SELECT 1`).Scan(new(int)); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("the transaction can be used after its end: %v", err)
	}
}

package stripetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
	"go.uber.org/goleak"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/stripetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service makes charges as Stripe's API does, behind the kit.
type service struct {
	*testing.T
	db     *sql.DB
	url    string
	starts atomic.Int32
	// before runs in the handler, before its effect.
	before func()
	// refused hears the codes of the kit's own answers.
	refused chan string
}

// newService starts a service; change may alter the kit's options.
func newService(t *testing.T, change func(*idempotency.Options)) *service {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "charges.db"))
	check(t, err)
	t.Cleanup(func() { db.Close() })
	err = sqlite.New(db, sqlite.Options{}).CreateTable(t.Context())
	check(t, err)
	_, err = db.Exec(`CREATE TABLE charges (id INTEGER PRIMARY KEY, account TEXT, amount INTEGER, operation TEXT)`)
	check(t, err)

	s := &service{T: t, db: db, before: func() {}, refused: make(chan string, 1000)}
	o := idempotency.Options{
		Principal: account,
		// However busy the machine is.
		Wait: time.Minute, StoreTimeout: time.Minute,
		WriteProblem: func(w http.ResponseWriter, r *http.Request, p idempotency.Problem) {
			s.refused <- p.Code
			stripetest.WriteProblem(w, r, p)
		},
	}
	if change != nil {
		change(&o)
	}
	kit, err := idempotency.New(sqlite.New(db, sqlite.Options{}), o)
	check(t, err)
	mux := http.NewServeMux()
	mux.Handle("POST /v1/charges", kit.Handler(idempotency.Route{}, http.HandlerFunc(s.charge)))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// account is the caller's identity: what its API key stands for, not the key.
func account(r *http.Request) (string, error) {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer sk_test_")
	if !ok {
		return "", errors.New("no API key")
	}
	name, _, _ := strings.Cut(key, "_")
	return "acct_" + name, nil
}

func (s *service) charge(w http.ResponseWriter, r *http.Request) {
	s.starts.Add(1)
	s.before()
	amount, err := strconv.Atoi(r.FormValue("amount"))
	w.Header().Set("Content-Type", "application/json")
	if err != nil || amount <= 0 {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"type":"invalid_request_error","code":"parameter_invalid_integer","param":"amount","message":"Invalid amount"}}`)
		return
	}
	who, _ := account(r)
	done, err := sqlite.Tx(r.Context()).ExecContext(r.Context(), `INSERT INTO charges (account, amount, operation) VALUES (?, ?, ?)`,
		who, amount, r.FormValue("description"))
	if err != nil {
		http.Error(w, "try again", http.StatusInternalServerError)
		return
	}
	id, _ := done.LastInsertId()
	fmt.Fprintf(w, `{"id":"ch_%d","object":"charge","amount":%d,"status":"succeeded"}`, id, amount)
}

// wantCharges counts an operation's charges; "" counts all.
func (s *service) wantCharges(operation string, want int) {
	s.Helper()
	var got int
	check(s, s.db.QueryRow(`SELECT count(*) FROM charges WHERE ?1 IN ('', operation)`, operation).Scan(&got))
	if got != want {
		s.Errorf("operation %q: %d charges, want %d", operation, got, want)
	}
}

// client is Stripe's, with its own retries, which it makes without pausing.
func client(t *testing.T, url, apiKey string, retries int64) *stripe.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL:               stripe.String(url),
		HTTPClient:        &http.Client{Transport: transport, Timeout: 5 * time.Minute},
		MaxNetworkRetries: stripe.Int64(retries),
		EnableTelemetry:   stripe.Bool(false),
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
	backends.API.(*stripe.BackendImplementation).SetNetworkRetriesSleep(false)
	return stripe.NewClient(apiKey, stripe.WithBackends(backends))
}

// charge asks for a charge. With key "" the client draws one itself.
func charge(ctx context.Context, c *stripe.Client, key, operation string, amount int64) (*stripe.Charge, error) {
	p := &stripe.ChargeCreateParams{Amount: stripe.Int64(amount), Currency: stripe.String("eur"), Description: stripe.String(operation)}
	if key != "" {
		p.SetIdempotencyKey(key)
	}
	return c.V1Charges.Create(ctx, p)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

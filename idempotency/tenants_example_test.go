package idempotency_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/idempotency/store"
)

// billing is a target of many tenants. docs/targets.md quotes its lines.
func billing(keys store.Store, account func(*http.Request) (string, error), bill http.HandlerFunc) (http.Handler, error) {
	kit, err := idempotency.New(keys, idempotency.Options{
		Principal: func(r *http.Request) (string, error) {
			caller, err := account(r)                         // whom the authentication has proved
			return caller + " for " + r.PathValue("key"), err // two tenants may both send the key "1"
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux() // its pattern is the scope
	mux.Handle("POST /v1/tenants/{key}/bill", kit.Handler(idempotency.Route{}, bill))
	return mux, nil
}

// A route with many tenants: one scope for all of them, and the tenant in the principal. So the
// members of a run, and callers that number their requests, each have a key of their own.
func Example_tenants() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(filepath.Join(dir, "service.db"))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	keys := sqlite.New(db, sqlite.Options{})
	if err := keys.CreateTable(context.Background()); err != nil {
		panic(err)
	}
	if _, err := db.Exec(`CREATE TABLE bills (tenant TEXT)`); err != nil {
		panic(err)
	}
	account := func(r *http.Request) (string, error) { // checked by whatever stands before
		user, _, _ := r.BasicAuth()
		return user, nil
	}
	mux, err := billing(keys, account, func(w http.ResponseWriter, r *http.Request) {
		if _, err := sqlite.Tx(r.Context()).ExecContext(r.Context(), `INSERT INTO bills VALUES (?)`, r.PathValue("key")); err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
	if err != nil {
		panic(err)
	}
	for _, call := range []struct{ account, tenant, key string }{
		{"cronce", "acme", "bill-tenants::acme@2026-11-01T03:00:00Z"}, {"cronce", "acme", "bill-tenants::acme@2026-11-01T03:00:00Z"},
		{"cronce", "globex", "bill-tenants::globex@2026-11-01T03:00:00Z"},
		{"gateway", "acme", "1"}, {"gateway", "globex", "1"}, {"gateway", "globex", "1"},
	} {
		r := httptest.NewRequest("POST", "/v1/tenants/"+call.tenant+"/bill", strings.NewReader(`{}`))
		r.Header.Set("Idempotency-Key", call.key)
		r.SetBasicAuth(call.account, "")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%d %s replayed=%q\n", w.Code, call.tenant, w.Header().Get("Idempotent-Replayed"))
	}
	var bills int
	var scope string
	_ = db.QueryRow(`SELECT count(*) FROM bills`).Scan(&bills)
	_ = db.QueryRow(`SELECT DISTINCT scope FROM idempotency_keys`).Scan(&scope)
	fmt.Println("bills:", bills, "scope:", scope)
	// Output:
	// 201 acme replayed=""
	// 201 acme replayed="true"
	// 201 globex replayed=""
	// 201 acme replayed=""
	// 201 globex replayed=""
	// 201 globex replayed="true"
	// bills: 4 scope: route:POST_/v1/tenants/{key}/bill
}

func TestTheManualQuotesTheTargetsOfManyTenants(t *testing.T) {
	manual, err := os.ReadFile("../docs/targets.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"tenants_example_test.go", "../kits/typescript/examples/tenants.ts"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		quoted := 0
		for _, block := range strings.Split(string(manual), "```")[1:] {
			_, lines, _ := strings.Cut(block, "\n")
			if strings.Contains(lines, "tenants/") && strings.Contains(unindented(string(code)), unindented(lines)) {
				quoted++
			}
		}
		if quoted != 1 {
			t.Errorf("docs/targets.md quotes %s %d times", file, quoted)
		}
	}
}

func unindented(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.String()
}

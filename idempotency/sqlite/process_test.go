package sqlite_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/migrations"
)

// serve makes one request of a service on the file, with fn called behind the
// effect.
func serve(t *testing.T, path, key string, fn func()) *httptest.ResponseRecorder {
	t.Helper()
	kit, err := idempotency.New(sqlite.New(open(t, path), sqlite.Options{}), idempotency.Options{
		Principal: idempotency.SinglePrincipal("caller"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/pay", strings.NewReader(`{}`))
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	kit.Handler(idempotency.Route{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := sqlite.Tx(r.Context()).ExecContext(r.Context(), `INSERT INTO effects VALUES (?)`, key); err != nil {
			t.Error(err)
		}
		fn()
	})).ServeHTTP(w, r)
	return w
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// TestChild is the other process: it dies in mid-work, or after the commit and
// before the caller has the reply.
func TestChild(t *testing.T) {
	path := os.Getenv("CHILD_PATH")
	if path == "" {
		t.Skip("runs only as the child of another test")
	}
	switch key := os.Getenv("CHILD_KEY"); key {
	case "in-mid-work":
		serve(t, path, key, die)
	default:
		serve(t, path, key, func() {})
		die()
	}
}

func TestAProcessKilledLeavesAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.db")
	db := open(t, path)
	if _, err := migrations.Up(context.Background(), db, migrations.Target{Engine: migrations.SQLite, Set: migrations.Keys}); err != nil {
		t.Fatal(err)
	}
	must(t, db, `CREATE TABLE effects (name TEXT)`)
	for key, replayed := range map[string]string{"in-mid-work": "", "after-the-commit": "true"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), "CHILD_PATH="+path, "CHILD_KEY="+key)
		if err := cmd.Run(); err == nil || !strings.Contains(fmt.Sprint(err), "killed") {
			t.Fatalf("%s: the child was not killed: %v", key, err)
		}
		w := serve(t, path, key, func() {})
		if w.Code != 200 || w.Header().Get("Idempotent-Replayed") != replayed {
			t.Errorf("%s: asked again: %d, replayed %q", key, w.Code, w.Header().Get("Idempotent-Replayed"))
		}
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM effects WHERE name = ?`, key).Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: %d effects, %v", key, n, err)
		}
	}
}

// Command conform is a service that follows the protocol of "cronce conform". Run it as
//
//	DATABASE_URL=postgres://... LISTEN=127.0.0.1:8080 go run ./examples/conform
//
// ENGINE chooses the kit's package for the database: pgsql (the default), postgres, mysql
// or sqlite.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency"
)

const brief = time.Second

func main() {
	ctx, schema := context.Background(), cmp.Or(os.Getenv("SCHEMA"), "conform")
	on, err := open(ctx, cmp.Or(os.Getenv("ENGINE"), "pgsql"), os.Getenv("DATABASE_URL"), schema)
	check(err)
	handler, err := service(ctx, on)
	check(err)
	log.Fatal(http.ListenAndServe(cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"), handler))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type app struct{ engine }

func service(ctx context.Context, on engine) (http.Handler, error) {
	a := app{on}
	if err := on.keys.CreateTable(ctx); err != nil {
		return nil, err
	}
	if _, err := on.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+on.effects()+` (effect varchar(64) PRIMARY KEY, operation varchar(64) NOT NULL)`); err != nil {
		return nil, err
	}
	kit, err := idempotency.New(on.keys, idempotency.Options{
		Principal: bearer, Wait: 300 * time.Millisecond, MaxRun: 10 * time.Second,
		TTLs: map[string]time.Duration{"conform:brief": brief},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /conform", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]any{"protocol": 1, "crash": true, "briefSeconds": brief.Seconds(), "long": true})
	})
	mux.HandleFunc("GET /conform/effects", a.count)
	for pattern, scope := range map[string]string{
		"POST /conform/effects": "conform:effects", "PUT /conform/effects": "conform:effects", "POST /conform/brief": "conform:brief",
	} {
		mux.Handle(pattern, kit.Handler(idempotency.Route{Scope: scope}, http.HandlerFunc(a.operate)))
	}
	long := idempotency.Route{Scope: "conform:long", Lease: 1500 * time.Millisecond, Poll: time.Second}
	mux.Handle("POST /conform/long", kit.Accept(long, a.work))
	return mux, kit.Ready(ctx)
}

// bearer is the caller: in the test protocol a token is its owner's name.
func bearer(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return "", errors.New("no bearer token")
	}
	return token, nil
}

func (a app) count(w http.ResponseWriter, r *http.Request) {
	var n int
	err := a.db.QueryRowContext(r.Context(), a.bind(`SELECT count(*) FROM `+a.effects()+` WHERE operation = ?`),
		r.FormValue("operation")).Scan(&n)
	if err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	write(w, http.StatusOK, map[string]any{"count": n})
}

func (a app) operate(w http.ResponseWriter, r *http.Request) {
	asked := order{Answer: http.StatusCreated}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	effect, err := a.store(r.Context(), asked)
	if err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	fault(r)
	w.Header().Set("Location", "/conform/effects?operation="+asked.Operation)
	w.Header().Set("Set-Cookie", "conform="+rand.Text())
	write(w, asked.Answer, map[string]any{"operation": asked.Operation, "effect": effect})
}

// order is a request.
type order struct {
	Operation string
	Answer    int
}

// store stores an effect in the kit's transaction.
func (a app) store(ctx context.Context, asked order) (effect string, err error) {
	effect = rand.Text()
	return effect, a.exec(ctx, a.bind(`INSERT INTO `+a.effects()+` VALUES (?, ?)`), effect, asked.Operation)
}

// fault does what the suite asks for between the effect and the answer.
func fault(r *http.Request) {
	asked := r.Header.Get("Conform-Fault")
	if asked == "crash" {
		os.Exit(1)
	}
	if ms, err := strconv.Atoi(strings.TrimPrefix(asked, "hold=")); err == nil {
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
}

// work is long work: the effect is committed when it is finished.
func (a app) work(ctx context.Context, w *idempotency.Work) error {
	var asked order
	if err := json.NewDecoder(w.Request().Body).Decode(&asked); err != nil {
		return idempotency.Final(err)
	}
	fault(w.Request())
	return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
		effect, err := a.store(ctx, asked)
		if err != nil {
			return idempotency.Reply{}, err
		}
		return idempotency.JSONReply(http.StatusCreated, map[string]any{"operation": asked.Operation, "effect": effect})
	})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		fmt.Fprintln(os.Stderr, "write the answer:", err)
	}
}

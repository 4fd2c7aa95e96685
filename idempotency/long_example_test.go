package idempotency_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// A job that takes longer than its caller waits. Each call is answered at once,
// and the last one with the reply.
func ExampleKit_Accept() {
	kit, done := exampleKit()
	defer done()
	sent, goOn := make(chan bool), make(chan bool)
	h := kit.Accept(idempotency.Route{Scope: "newsletter"}, func(ctx context.Context, w *idempotency.Work) error {
		for n := range 2 { // prepare a mail, which takes a while
			if err := w.Progress(ctx, map[string]int{"prepared": n + 1}); err != nil {
				return err
			}
			if n == 0 {
				sent <- true
				<-goOn
			}
		}
		err := w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
			_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO mails VALUES ('alice'), ('bob')`)
			if err != nil {
				return idempotency.Reply{}, err
			}
			return idempotency.JSONReply(http.StatusOK, map[string]int{"mails": 2})
		})
		sent <- true
		return err
	})
	call := func() {
		r := httptest.NewRequest("POST", "/v1/newsletter", strings.NewReader(`{}`))
		r.Header.Set("Idempotency-Key", "newsletter@2026-11-22T03:00:00Z")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Printf("%d %s %q\n", w.Code, w.Body, w.Header().Get("Retry-After"))
	}
	call()
	<-sent
	call()
	goOn <- true
	<-sent
	call()
	fmt.Println(kit.Shutdown(context.Background()))
	// Output:
	// 202 {"progress":null} "10"
	// 202 {"progress":{"prepared":1}} "10"
	// 200 {"mails":2} ""
	// <nil>
}

// An event whose work takes longer than a transaction should. The queue delivers
// it again because it has not seen the acknowledgement.
func ExampleKit_DoLong() {
	kit, done := exampleKit()
	defer done()
	event := idempotency.Operation{Scope: idempotency.EventScope("report.due.v1", "mail"), Key: "evt-7", Payload: `{"month":"2026-10"}`}
	handle := func() {
		duplicate, err := kit.DoLong(context.Background(), event, func(ctx context.Context, w *idempotency.Work) error {
			for page := range 3 { // render, which takes a while
				if err := w.Progress(ctx, map[string]int{"pages": page + 1}); err != nil {
					return err
				}
			}
			return w.Finish(ctx, func(ctx context.Context) (idempotency.Reply, error) {
				_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO mails VALUES ('alice')`)
				return idempotency.Reply{}, err
			})
		})
		fmt.Println("duplicate:", duplicate, err)
	}
	handle()
	handle() // delivered again
	// Output:
	// duplicate: false <nil>
	// duplicate: true <nil>
}

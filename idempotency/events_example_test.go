package idempotency_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// event is an EventBridge event, as a rule delivers it.
type event struct {
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Detail     json.RawMessage `json:"detail"`
}

// service has one table and the kit.
func service() (kit *idempotency.Kit, count func(table string) int, done func()) {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	db, err := sqlite.Open(filepath.Join(dir, "service.db"))
	must(err)
	ctx := context.Background()
	err = sqlite.New(db, sqlite.Options{}).CreateTable(ctx)
	must(err)
	_, err = db.ExecContext(ctx, `CREATE TABLE commissions (detail TEXT); CREATE TABLE mails (detail TEXT)`)
	must(err)
	kit, err = idempotency.New(sqlite.New(db, sqlite.Options{}), idempotency.Options{
		Principal: idempotency.SinglePrincipal("-"), // this service has no HTTP routes
		TTLs:      map[string]time.Duration{idempotency.EventScopes: 30 * 24 * time.Hour},
	})
	must(err)
	count = func(table string) (n int) {
		must(db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n))
		return n
	}
	return kit, count, func() { db.Close(); os.RemoveAll(dir) }
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// EventBridge delivers an event at least once. Its id names it; the handler's
// name in the scope lets each handler of the event do its part.
func ExampleKit_Do_eventBridge() {
	kit, count, done := service()
	defer done()
	handle := func(e event, handler string) {
		duplicate, err := kit.Do(context.Background(), idempotency.EventScope(e.DetailType, handler), e.ID, []byte(e.Detail),
			func(ctx context.Context) error {
				_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO `+handler+` VALUES (?)`, string(e.Detail))
				return err
			})
		fmt.Println(handler, "duplicate:", duplicate, "error:", err)
	}

	var e event
	must(json.Unmarshal([]byte(`{"id":"7bf73129-1428-4cd3-a780-95db273d1602","detail-type":"order.placed.v1","detail":{"order":1}}`), &e))
	handle(e, "commissions")
	handle(e, "commissions") // delivered again
	handle(e, "mails")
	fmt.Println(count("commissions"), "commission,", count("mails"), "mail")
	// Output:
	// commissions duplicate: false error: <nil>
	// commissions duplicate: true error: <nil>
	// mails duplicate: false error: <nil>
	// 1 commission, 1 mail
}

// A queue between EventBridge and the handler repeats messages of its own, so
// the key is the id of the event in the body: one event that was put into the
// queue twice has two message ids. Only the messages that failed come back. In a FIFO
// queue, all messages after a failed one come back too, so that none overtakes it.
func ExampleDo_sqs() {
	kit, count, done := service()
	defer done()
	type batch struct {
		Records []struct {
			MessageID string `json:"messageId"`
			Body      string `json:"body"`
			Queue     string `json:"eventSourceARN"`
		}
	}
	handle := func(ctx context.Context, b batch) (failed []string) {
		for _, record := range b.Records {
			if len(failed) > 0 && strings.HasSuffix(record.Queue, ".fifo") {
				failed = append(failed, record.MessageID)
				continue
			}
			var e event
			err := json.Unmarshal([]byte(record.Body), &e)
			if err == nil {
				_, _, err = idempotency.Do(ctx, kit, idempotency.Operation{
					Scope: idempotency.EventScope(e.DetailType, "commissions"), Key: e.ID, Payload: []byte(e.Detail),
				}, func(ctx context.Context) (struct{}, error) {
					_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO commissions VALUES (?)`, string(e.Detail))
					return struct{}{}, err
				})
			}
			if err != nil { // in progress elsewhere and store down too: it must come back
				slog.Error("event failed", "message", record.MessageID, "error", err)
				failed = append(failed, record.MessageID) // Lambda: batchItemFailures
			}
		}
		return failed
	}

	var b batch
	must(json.Unmarshal([]byte(`{"Records":[
		{"messageId":"m-1","body":"{\"id\":\"e-1\",\"detail-type\":\"order.placed.v1\",\"detail\":{\"order\":1}}"},
		{"messageId":"m-2","body":"{\"id\":\"e-1\",\"detail-type\":\"order.placed.v1\",\"detail\":{\"order\":1}}"},
		{"messageId":"m-3","body":"{\"id\":\"e-2\",\"detail-type\":\"order.placed.v1\",\"detail\":{\"order\":2}}"},
		{"messageId":"m-4","body":"{\"id\":\"e-1\",\"detail-type\":\"order.placed.v1\",\"detail\":{\"order\":3}}"}
	]}`), &b))
	fmt.Println("failed:", handle(context.Background(), b))
	fmt.Println("failed:", handle(context.Background(), b)) // the whole batch again
	fmt.Println(count("commissions"), "commissions")
	// Output:
	// failed: [m-4]
	// failed: [m-4]
	// 2 commissions
}

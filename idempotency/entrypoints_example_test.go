package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// exampleKit is a kit on a fresh database with a table of mails.
func exampleKit() (kit *idempotency.Kit, done func()) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	db, err := sqlite.Open(filepath.Join(dir, "service.db"))
	check(err)
	err = sqlite.New(db, sqlite.Options{}).CreateTable(context.Background())
	check(err)
	_, err = db.Exec(`CREATE TABLE mails (recipient TEXT)`)
	check(err)
	kit, err = idempotency.New(sqlite.New(db, sqlite.Options{}), idempotency.Options{Principal: idempotency.SinglePrincipal("shop")})
	check(err)
	return kit, func() { db.Close(); os.RemoveAll(dir) }
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// An event handler whose event is delivered twice.
func ExampleKit_Do() {
	kit, done := exampleKit()
	defer done()
	for range 2 {
		duplicate, err := kit.Do(context.Background(), idempotency.EventScope("order.placed.v1", "mail"), "evt-7", `{"order":7}`, func(ctx context.Context) error {
			_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO mails VALUES ('alice')`)
			return err
		})
		fmt.Println("duplicate:", duplicate, err)
	}
	// Output:
	// duplicate: false <nil>
	// duplicate: true <nil>
}

// A charge whose answer is lost. The next call does not charge again: it asks
// the vendor what became of it.
func ExampleCall() {
	kit, done := exampleKit()
	defer done()
	charge := idempotency.Effect[string]{
		Do: func(ctx context.Context) (string, error) {
			fmt.Println("charging")
			return "", errors.New("connection reset")
		},
		Reconcile: func(ctx context.Context) (id string, done bool, err error) {
			fmt.Println("looking the charge up")
			return "ch_1", true, nil
		},
	}
	order := idempotency.Operation{Scope: "vendor:charge", Key: "order-7", Payload: "100 EUR"}
	for range 3 {
		id, duplicate, err := idempotency.Call(context.Background(), kit, order, charge)
		fmt.Println(id, duplicate, errors.Is(err, idempotency.ErrOutcomeUnknown))
	}
	// Output:
	// charging
	//  false true
	// looking the charge up
	// ch_1 true false
	// ch_1 true false
}

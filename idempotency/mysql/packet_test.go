package mysql_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// A reply that is longer than a message to the server may be undoes the work and
// leaves its key free.
func TestAReplyTooLongForAMessageUndoesTheWork(t *testing.T) {
	tooLong := func(t *testing.T, admin, dsn string, bytes int) {
		db, other := open(t, dsn), open(t, admin)
		migrate(t, other)
		k := kitOn(t, mysql.New(db, mysql.Options{}))
		pay := func(reply string) (again bool, err error) {
			_, again, err = idempotency.Do(t.Context(), k, idempotency.Operation{Scope: "s", Key: "k"}, func(ctx context.Context) (string, error) {
				return reply, effect(ctx, mysql.Tx(ctx))
			})
			return again, err
		}
		for range 2 {
			if _, err := pay(strings.Repeat("x", bytes)); !errors.Is(err, idempotency.ErrUnavailable) {
				t.Errorf("a reply of %d bytes: %v", bytes, err)
			}
		}
		for _, again := range []bool{false, true} {
			if got, err := pay("short"); got != again || err != nil {
				t.Errorf("then a short one: duplicate %t, %v, want %t", got, err, again)
			}
		}
		if n := effects(t, other); n != 1 {
			t.Errorf("%d effects", n)
		}
	}
	t.Run("for the server", func(t *testing.T) {
		server := testdb.MariaDBServer(t)
		must(t, open(t, server.URL), `SET GLOBAL max_allowed_packet = 16384`)
		for name, parameters := range map[string]string{"in a statement's text": advised, "as a parameter": ""} {
			t.Run(name, func(t *testing.T) {
				dsn, err := server.Create(map[string]string{"": "parameter", advised: "text"}[parameters])
				if err != nil {
					t.Fatal(err)
				}
				tooLong(t, dsn, dsn+parameters, 40_000)
			})
		}
	})
}

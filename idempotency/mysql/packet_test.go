package mysql_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/internal/testdb"
)

// A reply that is too long for a message to the server, by the client's measure
// or by the server's, undoes the work and leaves its key free; the error says
// why where the server still could.
func TestAReplyTooLongForAMessageUndoesTheWork(t *testing.T) {
	tooLong := func(t *testing.T, w way, admin, dsn string, bytes int, says string) {
		db, other := open(t, dsn), open(t, admin)
		migrate(t, other)
		k := kitOn(t, w.store(db))
		pay := func(reply string) (again bool, err error) {
			_, again, err = idempotency.Do(t.Context(), k, idempotency.Operation{Scope: "s", Key: "k"}, func(ctx context.Context) (string, error) {
				return reply, effect(ctx, mysql.Tx(ctx))
			})
			return again, err
		}
		for range 2 {
			if _, err := pay(strings.Repeat("x", bytes)); !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), says) {
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
	t.Run("for the client", func(t *testing.T) {
		eachWay(t, func(t *testing.T, w way, fresh func(testing.TB) string) {
			dsn := fresh(t)
			tooLong(t, w, dsn, dsn+cmp.Or(w.parameters, "?")+"&maxAllowedPacket=20000", 15_000, "packet for query is too large")
		})
	})
	t.Run("for the server", func(t *testing.T) {
		server := testdb.MariaDBServer(t)
		must(t, open(t, server.URL), `SET GLOBAL max_allowed_packet = 16384`)
		for name, bytes := range map[string]int{"in a statement's text": 15_000, "as a parameter": 2 * mysql.LiteralBody} {
			t.Run(name, func(t *testing.T) {
				dsn, err := server.Create(map[bool]string{true: "text", false: "parameter"}[bytes < mysql.LiteralBody])
				if err != nil {
					t.Fatal(err)
				}
				tooLong(t, way{use: func(s *mysql.Store) { mysql.Use(s, mysql.Compound) }}, dsn, dsn, bytes, "")
			})
		}
	})
}

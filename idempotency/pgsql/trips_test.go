package pgsql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/roundtrips"
	"github.com/cronce/cronce/idempotency/pgsql"
)

// BEGIN, the claim, the reply and COMMIT: one less than a look-up, a row and its
// reply take, as a key table is usually written.
func TestTheKitsRoundTrips(t *testing.T) {
	config, err := pgx.ParseConfig(database(t))
	if err != nil {
		t.Fatal(err)
	}
	var trips roundtrips.Counter
	config.DialFunc = trips.Dial
	// A busy machine may let the connection idle for so long that it would be asked
	// whether it still works.
	db := stdlib.OpenDB(*config, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	k, err := idempotency.New(pgsql.New(db, options), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	pay := func(key string, fails error) {
		if _, err := k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('paid')`)
			return errors.Join(err, fails)
		}); !errors.Is(err, fails) {
			t.Errorf("%s: %v", key, err)
		}
	}
	count := func(what string, want int64, do func()) {
		before := trips.Sent()
		do()
		if got := trips.Sent() - before; got != want {
			t.Errorf("%s took %d round trips, want %d", what, got, want)
		}
	}
	no := errors.New("no")
	pay("prepares", nil)
	pay("prepares", nil)
	pay("prepares too", no)
	for n := range 3 {
		count("a call", 4+1, func() { pay(fmt.Sprint("k", n), nil) }) // 1: the work's statement
	}
	count("a replay", 4, func() { pay("k1", nil) })
	count("work that fails", 5+1, func() { pay("fails", no) })
}

package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency/internal/roundtrips"
)

// BEGIN with the claim, the work's statement, the reply with COMMIT: as many
// round trips as the same handler has without the kit.
func TestTheKitAddsNoRoundTrip(t *testing.T) {
	var trips roundtrips.Counter
	p := pool(t, database(t), func(c *pgxpool.Config) {
		c.MaxConns = 1
		// A machine that is busy enough lets the connection idle for so long
		// between two requests that pgxpool would ask whether it still works.
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		c.ConnConfig.DialFunc = trips.Dial
	})
	k := kit(t, p)
	for n := range 3 { // the first one prepares the statements
		before := trips.Sent()
		serve(k, fmt.Sprint("k", n), pay)
		if got := trips.Sent() - before; n > 0 && got != 3 {
			t.Errorf("request %d took %d round trips, want 3", n, got)
		}
	}
	before := trips.Sent()
	serve(k, "k1", pay)
	if got := trips.Sent() - before; got != 2 {
		t.Errorf("a replay took %d round trips, want 2", got)
	}
}

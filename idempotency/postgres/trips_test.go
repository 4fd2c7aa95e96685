package postgres_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// countingConn counts what goes to the server.
type countingConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(p)
}

// BEGIN with the claim, the work's statement, the reply with COMMIT: as many
// round trips as the same handler has without the kit.
func TestTheKitAddsNoRoundTrip(t *testing.T) {
	var sent atomic.Int64
	p := pool(t, database(t), func(c *pgxpool.Config) {
		c.MaxConns = 1
		// A machine that is busy enough lets the connection idle for so long
		// between two requests that pgxpool would ask whether it still works.
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return countingConn{conn, &sent}, err
		}
	})
	k := kit(t, p)
	for n := range 3 { // the first one prepares the statements
		before := sent.Load()
		serve(k, fmt.Sprint("k", n), pay)
		if trips := sent.Load() - before; n > 0 && trips != 3 {
			t.Errorf("request %d took %d round trips, want 3", n, trips)
		}
	}
	before := sent.Load()
	serve(k, "k1", pay)
	if trips := sent.Load() - before; trips != 2 {
		t.Errorf("a replay took %d round trips, want 2", trips)
	}
}

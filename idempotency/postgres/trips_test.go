package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// countingConn counts what goes to the server.
type countingConn struct {
	net.Conn
	sent      *atomic.Int64
	described *atomic.Int64 // Describe messages, when each write is whole messages
}

func (c countingConn) Write(p []byte) (int, error) {
	c.sent.Add(1)
	if p[0] != 0 { // the first message of a connection has no type
		for rest := p; len(rest) > 5; rest = rest[1+binary.BigEndian.Uint32(rest[1:]):] {
			if rest[0] == 'D' {
				c.described.Add(1)
			}
		}
	}
	return c.Conn.Write(p)
}

// BEGIN with the claim, the work's statement, the reply with COMMIT: as many
// round trips as the same handler has without the kit. What its statements
// return the server is asked once a connection.
func TestTheKitAddsNoRoundTrip(t *testing.T) {
	var sent, described atomic.Int64
	p := pool(t, database(t), func(c *pgxpool.Config) {
		c.MaxConns = 1
		// A machine that is busy enough lets the connection idle for so long
		// between two requests that pgxpool would ask whether it still works.
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return countingConn{conn, &sent, &described}, err
		}
	})
	k := kit(t, p)
	for n := range 3 { // the first one prepares the statements
		before, asked := sent.Load(), described.Load()
		serve(k, fmt.Sprint("k", n), pay)
		if asked == described.Load() == (n == 0) {
			t.Errorf("request %d asked for the columns of %d statements", n, described.Load()-asked)
		}
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

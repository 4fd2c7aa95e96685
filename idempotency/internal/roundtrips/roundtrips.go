// Package roundtrips counts what a client sends to its database, for tests.
package roundtrips

import (
	"context"
	"net"
	"sync/atomic"
)

// Counter dials connections and counts what is written to them: a message that a
// driver flushes once is one write. The zero Counter is ready.
type Counter struct{ sent atomic.Int64 }

// Sent returns how many writes the connections have seen.
func (c *Counter) Sent() int64 { return c.sent.Load() }

// Dial is a DialFunc of the drivers.
func (c *Counter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return counted{conn, c}, err
}

type counted struct {
	net.Conn
	counter *Counter
}

func (c counted) Write(p []byte) (int, error) {
	c.counter.sent.Add(1)
	return c.Conn.Write(p)
}

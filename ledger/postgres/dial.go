package postgres

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// peerTimeout is the time for which the server's host may leave sent data unacknowledged or
	// keep-alive probes unanswered. A connection that a gateway has dropped shows no
	// other sign.
	peerTimeout = 15 * time.Second
	// cleanupTime bounds the driver's work after a statement is given up: it asks the
	// server to cancel the statement and drains the connection, which keeps its place
	// in the pool meanwhile. The driver's own bound is 15 s.
	cleanupTime = time.Second
)

// limits bound a transaction by how it begins: a pooler whose server has gone may answer
// the probes, and statements never. A write takes milliseconds; a read may count all that
// a purge has left.
func limits() map[string]time.Duration {
	return map[string]time.Duration{beginWrite: time.Minute, beginRead: 10 * time.Minute}
}

var dialer = net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: peerTimeout, Interval: peerTimeout / 3, Count: 3},
	Control:         setUserTimeout,
}

// limitCleanup bounds how long a connection waits for a silent server, and how long
// its cleanup takes. A connection that is dialed after the first is a cancel request.
func limitCleanup(c *pgx.ConnConfig) {
	var up atomic.Bool
	c.AfterConnect = func(context.Context, *pgconn.PgConn) error {
		up.Store(true)
		return nil
	}
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !up.Load() {
			conn, err := dialer.DialContext(ctx, network, address)
			return boundedConn{conn}, err
		}
		ctx, cancel := context.WithTimeout(ctx, cleanupTime)
		defer cancel()
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			err = conn.SetDeadline(time.Now().Add(cleanupTime))
		}
		return conn, err
	}
}

// boundedConn limits every deadline to cleanupTime from now. The driver sets one to
// abort at once, or for its cleanup.
type boundedConn struct{ net.Conn }

// SetDeadline sets a deadline that is no later than cleanupTime from now.
func (l boundedConn) SetDeadline(t time.Time) error {
	if latest := time.Now().Add(cleanupTime); t.After(latest) {
		t = latest
	}
	return l.Conn.SetDeadline(t)
}

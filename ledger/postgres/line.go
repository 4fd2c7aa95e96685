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
	// silence is how long the peer's system may leave what was sent to it
	// unacknowledged, or a question whether it is still there unanswered. A
	// connection that a gateway has forgotten shows no other sign.
	silence = 15 * time.Second
	// cleanupTime bounds what the driver does after a statement was given up:
	// it asks the server to cancel it, and drains the connection, whose place in
	// the pool stays taken all the while. The driver's own bound is 15 s.
	cleanupTime = time.Second
)

var dialer = net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence, Interval: silence / 3, Count: 3},
	Control:         noticeSilence,
}

// limitCleanup makes a connection notice a silent peer, and end soon when it is
// given up. What is dialed after it is up is a request to cancel.
func limitCleanup(c *pgx.ConnConfig) {
	var up atomic.Bool
	c.AfterConnect = func(context.Context, *pgconn.PgConn) error {
		up.Store(true)
		return nil
	}
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !up.Load() {
			conn, err := dialer.DialContext(ctx, network, address)
			return line{conn}, err
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

// line is a connection that limits deadlines. The driver sets one to abort at
// once, or for its cleanup.
type line struct{ net.Conn }

func (l line) SetDeadline(t time.Time) error {
	if latest := time.Now().Add(cleanupTime); t.After(latest) {
		t = latest
	}
	return l.Conn.SetDeadline(t)
}

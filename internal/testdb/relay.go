package testdb

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Relay stands between a PostgreSQL database and its clients. It counts round trips and
// can lose an answer.
type Relay struct {
	URL   string // of the database, through the relay
	trips atomic.Int64
	lost  atomic.Pointer[string]
}

// NewRelay starts a relay in front of a database. It ends with the test.
func NewRelay(t testing.TB, database string) *Relay {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	to := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			serving.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			serving.Go(func() { r.answers(client, server); _ = client.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	u.Host = l.Addr().String()
	r.URL = u.String()
	return r
}

// Trips returns how often a server said that it is ready: once a round trip.
func (r *Relay) Trips() int64 { return r.trips.Load() }

// LoseAnswer cuts the next connection on which the server says that it has done a
// command, such as COMMIT. The client does not learn of it.
func (r *Relay) LoseAnswer(command string) { r.lost.Store(&command) }

// answers passes a server's messages on, each a type, a length and a body.
func (r *Relay) answers(to io.Writer, from io.Reader) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		body := make([]byte, int64(binary.BigEndian.Uint32(head[1:]))-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		switch lost := r.lost.Load(); {
		case head[0] == 'Z': // ReadyForQuery
			r.trips.Add(1)
		case head[0] == 'C' && lost != nil && string(bytes.TrimRight(body, "\x00")) == *lost:
			r.lost.Store(nil)
			return
		}
		if _, err := to.Write(append(head, body...)); err != nil {
			return
		}
	}
}

package main

import (
	wire "encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
)

// An event's first answer waits for each round trip to the database, and each event
// is answered over a session of its own.
func TestAnEventAsksTheDatabaseSeldom(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	migrated(t, db)
	counted, trips := countTrips(t, db)
	newFunction := func() *handler {
		h, _ := newTestHandler(t, fresh, jobs.Job{ID: "minutely", Schedule: "* * * * *"})
		h.useLedger(t, counted)
		return h
	}
	if err := inTime(t, newFunction(), time.Minute, `{"jobId":"minutely","id":"z"}`); err != nil { // the ledger is the registry's now
		t.Fatal(err)
	}
	h := newFunction()
	for _, tc := range []struct {
		name, payload string
		most          int64
	}{
		{"the first", `{"jobId":"minutely","id":"a"}`, 10},
		{"work under its own id", `{"jobId":"minutely","id":"b"}`, 8},
		{"a job that the ledger does not know", `{"jobId":"minutely","scheduledAt":"` + minute().Format(time.RFC3339) + `"}`, 18},
		{"a scheduled time", `{"jobId":"minutely","scheduledAt":"` + minute().Add(-time.Minute).Format(time.RFC3339) + `"}`, 12},
		{"a repeat of it", `{"jobId":"minutely","scheduledAt":"` + minute().Add(-time.Minute).Format(time.RFC3339) + `"}`, 8},
	} {
		before := trips.Load()
		if err := inTime(t, h, time.Minute, tc.payload); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := trips.Load() - before; got < 2 || got > tc.most {
			t.Errorf("%s: %d round trips, want at most %d", tc.name, got, tc.most)
		}
	}
}

// countTrips returns the database's URL through a relay that counts how often the
// server says that it is ready: once a round trip.
func countTrips(t *testing.T, db string) (through string, trips *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	to := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	trips = new(atomic.Int64)
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
			serving.Go(func() { forward(client, server, trips); _ = client.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	u.Host = l.Addr().String()
	return u.String(), trips
}

// forward passes a server's messages on, each a type, a length and a body, and
// counts those of type ReadyForQuery.
func forward(to io.Writer, from io.Reader, ready *atomic.Int64) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		if head[0] == 'Z' {
			ready.Add(1)
		}
		if _, err := to.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, int64(wire.BigEndian.Uint32(head[1:]))-4); err != nil {
			return
		}
	}
}

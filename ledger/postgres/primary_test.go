package postgres_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// A connection that was made before a name moved to the new primary still leads to the
// former one, which has become a standby: it answers, and refuses to write.
func TestWritesReachTheNewPrimaryOnceItsNameHasMoved(t *testing.T) {
	primary, standby := servers(t)
	for name, through := range map[string]func(string) string{
		"directly":         func(url string) string { return url },
		"through a pooler": func(url string) string { return testdb.PgBouncer(t, url) },
	} {
		t.Run(name, func(t *testing.T) {
			name, at := movable(t, through(primary))
			l := open(t, name)
			must(t, l.Ping(t.Context()))
			at.Store(host(t, through(standby)))
			l.CloseIdleConnections(t.Context())
			if err := write(t, l); !errors.Is(err, ledger.ErrUnavailable) {
				t.Fatalf("a write on the standby: %v, want %v", err, ledger.ErrUnavailable)
			}
			var reads sync.WaitGroup // each makes a connection to the standby; a pooler's refuses it
			for range 8 {
				reads.Go(func() { _, _ = l.Jobs(t.Context()) })
			}
			reads.Wait()
			at.Store(host(t, through(primary)))
			if err := write(t, l); err != nil {
				must(t, write(t, l)) // the first one may meet a connection to the standby
			}
		})
	}
}

// A standby that comes first in the URL is passed over, unless the URL wants it.
func TestAURLOfSeveralHostsLeadsToThePrimary(t *testing.T) {
	primary, standby := servers(t)
	at, beside := host(t, primary), host(t, standby)
	both := strings.Replace(primary, at, beside+","+at, 1)
	must(t, write(t, open(t, both)))
	if got := write(t, open(t, both+"&target_session_attrs=standby")); !errors.Is(got, ledger.ErrUnavailable) {
		t.Errorf("a write where the URL wants a standby: %v, want %v", got, ledger.ErrUnavailable)
	}
}

// servers are the URLs of a ledger on a primary and of its copy on a standby.
func servers(t *testing.T) (primary, standby string) {
	first := testdb.PostgresServer(t)
	primary, err := first.Create("ledger")
	must(t, err)
	execute(t, primary, tables(t, "cronce"))
	second := testdb.PostgresStandby(t, first)
	return primary, strings.Replace(primary, host(t, primary), host(t, second.URL), 1)
}

func host(t *testing.T, address string) string {
	u, err := url.Parse(address)
	must(t, err)
	return u.Host
}

// movable returns a URL whose host leads new connections to the address in at.
func movable(t *testing.T, address string) (moved string, at *atomic.Value) {
	at = &atomic.Value{}
	at.Store(host(t, address))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", at.Load().(string))
			if err != nil {
				from.Close()
				continue
			}
			go func() { defer from.Close(); _, _ = io.Copy(from, to) }()
			go func() { defer to.Close(); _, _ = io.Copy(to, from) }()
		}
	}()
	return strings.Replace(address, host(t, address), listener.Addr().String(), 1), at
}

// write is any call of the ledger that writes.
func write(t *testing.T, l *postgres.Ledger) error {
	return l.Declare(t.Context(), ledger.Declaration{
		Process: "p", Registry: "acme", Version: "v1",
		Definitions: slices.Values([]ledger.Definition{{JobID: "job", Hash: "h", Body: []byte("{}")}}),
	})
}
